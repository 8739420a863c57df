internal import Glibc
internal import LinuxRuntime
public import MediaCore
internal import Synchronization

/// The pixels of an app's own window, which the app draws or hands in. Nothing else on the display is in them. Each
/// consumer reads them through a screen of its own (`makeScreen`), which has its own damage.
///
/// `submit` copies the damaged rows. `draw` lends the surface's own memory, and `MappedMemory` is read where it is:
/// both save that copy. Odd sides are cut by a pixel, as 4:2:0 needs even ones.
/// - Isolation: any thread. The app waits for a video thread for the time that it reads one row of blocks, well under a
///   millisecond.
public final class InAppSurface: Sendable {
    /// The largest side in pixels.
    public static let longestSide = 8_192

    let name: String
    let converter: any PixelConverter
    let state: Monitor<SurfaceState>
    private let isCapturedNow = Atomic(false)
    private let captureChanged: Mutex<(@Sendable () -> Void)?> = Mutex(nil)

    /// - Parameters:
    ///   - name: the app's name, for people.
    ///   - size: of the first frame, which is black until the app draws.
    public init(name: String, size: PixelSize, converter: any PixelConverter) throws(InAppFrameFailure) {
        try InAppFrameFailure.checkBGRA(size)
        self.name = name
        self.converter = converter
        state = Monitor(SurfaceState(size.even))
    }

    /// Takes a frame.
    /// - Parameters:
    ///   - pixels: BGRA rows from the top, `stride` bytes each; read during the call.
    ///   - size: may differ from that of the last frame.
    ///   - damage: what has changed since the last frame; nil for everything. Blocks that are equal cost no bitrate.
    public func submit(
        _ pixels: UnsafeRawPointer, stride: Int, size: PixelSize, damage: [PixelRect]? = nil
    ) throws(InAppFrameFailure) {
        try InAppFrameFailure.checkBGRA(size, stride: stride)
        state.change { state in
            let (memory, isNew) = state.ownPacked(size.even)
            let damage = isNew ? nil : damage
            for rect in damage ?? [PixelRect(size)] {
                let rect = rect.clipped(to: memory.size)
                guard !rect.isEmpty else { continue }
                for row in rect.y..<rect.maxY {
                    memcpy(memory.pixel(x: rect.x, y: row), pixels + row * stride + rect.x * 4, rect.width * 4)
                }
            }
            state.note(damage)
        }
    }

    /// Takes a frame of planes, which is not converted.
    /// - Parameters:
    ///   - planes: BT.601, limited range; read during the call. A plane of an odd side has `(side + 1) / 2` samples of
    ///     chroma.
    ///   - damage: as above.
    public func submit(_ planes: I420Frame, damage: [PixelRect]? = nil) throws(InAppFrameFailure) {
        let size = planes.size
        try InAppFrameFailure.check(size, stride: planes.strideY) { $0 }
        try InAppFrameFailure.check(size, stride: planes.strideC) { ($0 + 1) / 2 }
        state.change { state in
            let (buffer, isNew) = state.ownPlanar(size.even)
            let damage = isNew ? nil : damage
            for rect in damage ?? [PixelRect(size)] { Self.copy(rect.clipped(to: buffer.size), of: planes, to: buffer) }
            state.note(damage)
        }
    }

    private static func copy(_ rect: PixelRect, of planes: I420Frame, to buffer: I420Buffer) {
        guard !rect.isEmpty else { return }
        for row in rect.y..<rect.maxY {
            memcpy(buffer.y + row * buffer.strideY + rect.x, planes.y + row * planes.strideY + rect.x, rect.width)
        }
        let (left, width) = (rect.x / 2, (rect.maxX + 1) / 2 - rect.x / 2)
        for row in rect.y / 2..<(rect.maxY + 1) / 2 {
            let (from, to) = (row * planes.strideC + left, row * buffer.strideC + left)
            memcpy(buffer.u + to, planes.u + from, width)
            memcpy(buffer.v + to, planes.v + from, width)
        }
    }

    /// Takes a BGRA frame in shared memory. Where the memory is mapped, the frame is read there until the app hands in
    /// another one, so the app draws the next one elsewhere in the memory; else its damaged rows are copied.
    /// - Throws: also `.outside`, if the memory shrinks while it is copied; the damaged rows are then unspecified.
    public func submit(
        _ memory: MappedMemory, offset: Int, stride: Int, size: PixelSize, damage: [PixelRect]? = nil
    ) throws(InAppFrameFailure) {
        try memory.check(offset: offset, stride: stride, size: size)
        if let base = memory.base {
            let frame = MappedFrame(memory: memory, base: base + offset, stride: stride, size: size.even)
            state.change { state in
                let isNew = state.pixels.size != frame.size || state.pixels.isPlanar
                state.adopt(frame)
                state.note(isNew ? nil : damage)
            }
            return
        }
        let isWhole = state.change { state in
            let (own, isNew) = state.ownPacked(size.even)
            let damage = isNew ? nil : damage
            var isWhole = true
            for rect in damage ?? [PixelRect(size)] {
                let rect = rect.clipped(to: own.size)
                guard isWhole, !rect.isEmpty else { continue }
                for row in rect.y..<rect.maxY where isWhole {
                    isWhole = memory.copy(
                        own.pixel(x: rect.x, y: row), offset: offset + row * stride + rect.x * 4, count: rect.width * 4)
                }
            }
            state.note(damage)
            return isWhole
        }
        if !isWhole { throw .outside(byteCount: memory.byteCount) }
    }

    /// Lends the surface's memory to draw a frame in place. It holds the last frame, or black after a change of size or
    /// of the way in which frames are handed in.
    /// - Parameter body: gets the first pixel (BGRA) and the bytes from one row to the next; returns what it has
    ///   changed, or nil for everything. The video threads wait meanwhile; it hands in no frames itself.
    public func draw(
        size: PixelSize, _ body: (UnsafeMutableRawPointer, _ stride: Int) -> [PixelRect]?
    ) throws(InAppFrameFailure) {
        try InAppFrameFailure.checkBGRA(size)
        state.change { state in
            let (memory, isNew) = state.ownPacked(size.even)
            let damage = body(memory.base, memory.stride)
            state.note(isNew ? nil : damage)
        }
    }

    // MARK: Consumers

    /// Makes a source for one consumer. Each has its own damage, so that none waits for another.
    public func makeScreen() -> InAppScreen { InAppScreen(self) }

    /// Whether somebody receives the frames now. May be read while a frame is drawn.
    public var isCaptured: Bool { isCapturedNow.load(ordering: .acquiring) }

    /// Sets the callback for changes of `isCaptured`, so that an app can hide what nobody else should see.
    /// Called on the video thread of a screen, before its next frame is read.
    public func onCapture(_ body: (@Sendable () -> Void)?) { captureChanged.withLock { $0 = body } }

    /// Adds, changes or removes readers.
    func changeReaders(_ body: (inout SurfaceState) -> Void) {
        let hasChanged = state.change { state in
            body(&state)
            let isCaptured = state.readers.contains { $0.phase == .captured }
            return isCapturedNow.exchange(isCaptured, ordering: .acquiringAndReleasing) != isCaptured
        }
        if hasChanged { captureChanged.withLock { $0 }?() }
    }
}
