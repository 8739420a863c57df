internal import InAppCapture
internal import MediaCore

/// The ways to hand in a frame. All may be called from any thread, and mixed.
extension ApplicationSource {
    /// Takes a frame.
    /// - Parameters:
    ///   - pixels: rows from the top; a pixel is B, G, R and an ignored byte. Read during the call.
    ///   - stride: bytes from one row to the next, at least `width * 4`.
    ///   - width: of the frame in pixels, 2...8,192, as `height`.
    ///   - height: of the frame in pixels.
    ///   - damage: what has changed since the last frame; nil for everything. Equal pixels are not sent again.
    /// - Throws: `.badFrame`; the last frame stays.
    public func submit(
        pixels: UnsafeRawPointer, stride: Int, width: Int, height: Int, damage: [Rectangle]? = nil
    ) throws(ShareKitError) {
        do throws(InAppFrameFailure) {
            try surface.submit(
                pixels, stride: stride, size: PixelSize(width: width, height: height),
                damage: damage?.map { PixelRect($0) })
        } catch {
            throw ShareKitError(error)
        }
    }

    /// Takes a frame of I420 planes (BT.601, limited range), as a decoder or a camera delivers it. It is not converted.
    /// - Parameters:
    ///   - y: luma: `height` rows of `strideY` bytes, `width` of them used. Read during the call.
    ///   - u: chroma: `(height + 1) / 2` rows of `strideC` bytes, `(width + 1) / 2` of them used.
    ///   - v: as `u`.
    ///   - strideY: bytes from one row of luma to the next.
    ///   - strideC: bytes from one row of chroma to the next.
    ///   - width: of the frame in pixels, 2...8,192, as `height`.
    ///   - height: of the frame in pixels.
    ///   - damage: what has changed since the last frame; nil for everything. Equal pixels are not sent again.
    /// - Throws: `.badFrame`; the last frame stays.
    public func submit(
        y: UnsafePointer<UInt8>, u: UnsafePointer<UInt8>, v: UnsafePointer<UInt8>, strideY: Int, strideC: Int,
        width: Int, height: Int, damage: [Rectangle]? = nil
    ) throws(ShareKitError) {
        let planes = I420Frame(
            size: PixelSize(width: width, height: height), y: y, u: u, v: v, strideY: strideY, strideC: strideC)
        do throws(InAppFrameFailure) {
            try surface.submit(planes, damage: damage?.map { PixelRect($0) })
        } catch {
            throw ShareKitError(error)
        }
    }

    /// Takes a frame in shared memory of the app's window. If the memory can be read in place
    /// (``SharedMemory/isReadInPlace``), it costs no copy, and the pixels have to stay as they are until the next
    /// frame was handed in: draw that one at another offset. Else the damaged rows are copied.
    /// - Parameters:
    ///   - memory: made once for many frames.
    ///   - offset: of the first pixel, in bytes.
    ///   - stride: bytes from one row to the next; a pixel is B, G, R and an ignored byte.
    ///   - width: of the frame in pixels, 2...8,192, as `height`.
    ///   - height: of the frame in pixels.
    ///   - damage: what has changed since the last frame; nil for everything. Equal pixels are not sent again.
    /// - Throws: `.badFrame` if the frame does not lie inside the memory; the last frame stays. If the memory shrinks
    ///   during the call, the damaged rows are unspecified.
    public func submit(
        _ memory: SharedMemory, offset: Int = 0, stride: Int, width: Int, height: Int, damage: [Rectangle]? = nil
    ) throws(ShareKitError) {
        do throws(InAppFrameFailure) {
            try surface.submit(
                memory.mapping, offset: offset, stride: stride, size: PixelSize(width: width, height: height),
                damage: damage?.map { PixelRect($0) })
        } catch {
            throw ShareKitError(error)
        }
    }

    /// Draws a frame in the source's own memory, which saves a copy. It holds the last frame, or black after a change
    /// of size or of the way in which frames are handed in.
    /// - Parameters:
    ///   - width: of the frame in pixels, 2...8,192, as `height`.
    ///   - height: of the frame in pixels.
    ///   - body: gets the first pixel and the bytes from one row to the next; returns what it has changed, or nil for
    ///     everything. It may read ``isCaptured``, and must not hand in frames.
    /// - Throws: `.badFrame`; `body` is then not called.
    public func draw(
        width: Int, height: Int, _ body: (UnsafeMutableRawPointer, _ stride: Int) -> [Rectangle]?
    ) throws(ShareKitError) {
        do throws(InAppFrameFailure) {
            try surface.draw(size: PixelSize(width: width, height: height)) { pixels, stride in
                body(pixels, stride)?.map { PixelRect($0) }
            }
        } catch {
            throw ShareKitError(error)
        }
    }

    /// Draws a whole frame in the source's own memory: what differs from the last one is found out.
    /// - Parameters:
    ///   - width: of the frame in pixels, 2...8,192, as `height`.
    ///   - height: of the frame in pixels.
    ///   - body: gets the first pixel and the bytes from one row to the next. It must not hand in frames.
    /// - Throws: `.badFrame`; `body` is then not called.
    public func draw(
        width: Int, height: Int, _ body: (UnsafeMutableRawPointer, _ stride: Int) -> Void
    ) throws(ShareKitError) {
        try draw(width: width, height: height) { pixels, stride -> [Rectangle]? in
            body(pixels, stride)
            return nil
        }
    }
}

/// Shared memory in which an app, or another process for it, draws its window: a memfd, or a file in `/dev/shm`.
///
/// Memory that may shrink is never mapped, as reading behind its end would end the process. Seal it with
/// `F_SEAL_SHRINK` (memfd_create(2), fcntl(2)) to have it read without a copy.
public final class SharedMemory: Sendable {
    let mapping: MappedMemory

    /// Duplicates the descriptor, and maps the memory if it is sealed against shrinking.
    /// - Parameter descriptor: of readable memory; it is duplicated, and may be closed afterwards. The memory has its
    ///   size now; what is added to it later cannot be used.
    /// - Throws: `.badFrame` if it is not the descriptor of a file, empty or not readable.
    public init(descriptor: Int32) throws(ShareKitError) {
        do throws(InAppFrameFailure) {
            mapping = try MappedMemory(descriptor: descriptor)
        } catch {
            throw ShareKitError(error)
        }
    }

    /// Whether frames are read where they are, because the memory can never shrink.
    public var isReadInPlace: Bool { mapping.isMapped }
}

extension PixelRect {
    /// Numbers beyond any frame are clamped, so that no sum of them overflows.
    init(_ rectangle: ApplicationSource.Rectangle) {
        let limit = 4 * InAppSurface.longestSide
        self.init(
            x: min(max(rectangle.x, -limit), limit), y: min(max(rectangle.y, -limit), limit),
            width: min(max(rectangle.width, 0), 2 * limit), height: min(max(rectangle.height, 0), 2 * limit))
    }
}

extension ShareKitError {
    init(_ failure: InAppFrameFailure) {
        switch failure {
        case .size(let size):
            self.init(
                .badFrame, "a frame of \(size.width) x \(size.height) pixels cannot be shared",
                remedy: "Both sides have to be 2 to \(InAppSurface.longestSide) pixels.")
        case .stride(let stride): self.init(.badFrame, "a stride of \(stride) bytes is shorter than a row")
        case .outside(let count):
            self.init(.badFrame, "the frame does not lie inside the shared memory of \(count) bytes")
        case .descriptor(let code):
            self.init(
                .badFrame, "the descriptor is not that of readable shared memory (error \(code))",
                remedy: "Pass a memfd, or a file in /dev/shm, that is not empty.")
        }
    }
}
