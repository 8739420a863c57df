internal import InAppCapture
internal import MediaCore
internal import PixelConversion
internal import Sessions

/// What an app shows of itself: the frames and the audio that it hands in, and nothing else on the display.
///
/// One source feeds one ``PeerBroadcast``. Frames may be handed in at any time; without viewers they cost a copy.
public final class ApplicationSource: Sendable {
    /// A part of a frame, in pixels from the upper left corner.
    public struct Rectangle: Hashable, Sendable {
        public var x: Int
        public var y: Int
        public var width: Int
        public var height: Int

        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }

    /// The app's name, which viewers see.
    public let name: String
    let screen: InAppScreen
    let audio: InAppAudio?

    /// - Parameters:
    ///   - width: of the first frame in pixels, 2...8,192; later frames may have another size.
    ///   - hasAudio: whether `submitAudio` will be called.
    /// - Throws: `.badFrame`.
    public init(name: String, width: Int, height: Int, hasAudio: Bool = false) throws(ShareKitError) {
        self.name = name
        do throws(InAppFrameFailure) {
            screen = try InAppScreen(
                name: name, size: PixelSize(width: width, height: height), converter: YUVConverter())
        } catch {
            throw ShareKitError(error)
        }
        audio = hasAudio ? InAppAudio(name: name) : nil
    }

    /// Takes a frame. May be called from any thread.
    /// - Parameters:
    ///   - pixels: rows from the top, `stride` bytes each; a pixel is B, G, R and an ignored byte. Read during the call.
    ///   - damage: what has changed since the last frame; nil for everything. Equal pixels are not sent again.
    /// - Throws: `.badFrame`; the last frame stays.
    public func submit(
        pixels: UnsafeRawPointer, stride: Int, width: Int, height: Int, damage: [Rectangle]? = nil
    ) throws(ShareKitError) {
        do throws(InAppFrameFailure) {
            try screen.submit(
                pixels, stride: stride, size: PixelSize(width: width, height: height),
                damage: damage?.map { PixelRect($0) })
        } catch {
            throw ShareKitError(error)
        }
    }

    /// Draws a frame in the source's own memory, which saves a copy. It holds the last frame.
    /// - Parameter body: gets the first pixel and the bytes from one row to the next; returns what it has changed, or nil
    ///   for everything.
    /// - Throws: `.badFrame`; `body` is then not called.
    public func draw(
        width: Int, height: Int, _ body: (UnsafeMutableRawPointer, _ stride: Int) -> [Rectangle]?
    ) throws(ShareKitError) {
        do throws(InAppFrameFailure) {
            try screen.draw(size: PixelSize(width: width, height: height)) { pixels, stride in
                body(pixels, stride)?.map { PixelRect($0) }
            }
        } catch {
            throw ShareKitError(error)
        }
    }

    /// Takes audio: 48 kHz, two channels, interleaved; any number of samples. Does nothing without `hasAudio`.
    public func submitAudio(_ samples: UnsafeBufferPointer<Int16>) { audio?.submit(samples) }

    /// Whether somebody receives the frames now. An app hides what only its own user may see while this is true.
    public var isCaptured: Bool { screen.isCaptured }

    /// The changes of ``isCaptured``, from the current value on, for one reader at a time. The newest value replaces one
    /// that was not read yet.
    public var captureChanges: AsyncStream<Bool> {
        let (changes, source) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        source.yield(isCaptured)
        screen.onCapture { source.yield($0) }
        return changes
    }
}

extension PixelRect {
    init(_ rectangle: ApplicationSource.Rectangle) {
        self.init(x: rectangle.x, y: rectangle.y, width: rectangle.width, height: rectangle.height)
    }
}

extension ShareKitError {
    init(_ failure: InAppFrameFailure) {
        switch failure {
        case .size(let size):
            self.init(
                .badFrame, "a frame of \(size.width) x \(size.height) pixels cannot be shared",
                remedy: "Both sides have to be 2 to \(InAppScreen.longestSide) pixels.")
        case .stride(let stride): self.init(.badFrame, "a stride of \(stride) bytes is shorter than a row")
        }
    }
}
