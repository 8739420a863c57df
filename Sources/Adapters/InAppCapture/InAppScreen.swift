internal import FrameDifference
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// Why a frame of an app is not taken. The frames before it stay.
public enum InAppFrameFailure: Error, Equatable, Sendable {
    /// A side is under 2 or over 8,192 pixels.
    case size(PixelSize)
    /// The stride is shorter than a row, in bytes.
    case stride(Int)
}

/// The pixels of an app's own window, which the app draws or hands in. Nothing else on the display is in them.
///
/// `submit` copies the damaged rows; `draw` lends the source's own memory, which saves the copy. Odd sides are cut by a
/// pixel, as 4:2:0 needs even ones.
/// - Isolation: `submit`, `draw`, `onCapture` and `isCaptured` may be called from any thread; they wait for the
///   video thread for the time that it reads one row of blocks, well under a millisecond.
// SAFETY: `shadow` and `pending` belong to the video thread, all else is in the Monitor.
public final class InAppScreen: ScreenSource, @unchecked Sendable {
    /// The largest side in pixels.
    public static let longestSide = 8_192

    private struct State {
        var pixels: PixelMemory
        /// What `read` has not read yet.
        var damaged: BlockMap
        var hasDamage = false
        var hasResized = false
        var isWoken = false
        var isSuspended = true
        var isClosed = false
    }

    private let name: String
    private let converter: any PixelConverter
    private let state: Monitor<State>
    private let changes: Monitor<(@Sendable (Bool) -> Void)?>
    private var shadow: ScreenShadow
    private var pending: BlockMap
    private var isForced = true

    /// - Parameters:
    ///   - name: the app's name, for people.
    ///   - size: of the first frame, which is black until the app draws.
    public init(name: String, size: PixelSize, converter: any PixelConverter) throws(InAppFrameFailure) {
        try Self.check(size, stride: size.width * 4)
        self.name = name
        self.converter = converter
        shadow = ScreenShadow(size.even)
        pending = BlockMap(size.even)
        state = Monitor(State(pixels: PixelMemory(size.even), damaged: BlockMap(size.even, filled: true)))
        changes = Monitor(nil)
    }

    private static func check(_ size: PixelSize, stride: Int) throws(InAppFrameFailure) {
        guard (2...longestSide).contains(size.width), (2...longestSide).contains(size.height) else {
            throw .size(size)
        }
        guard stride >= size.width * 4 else { throw .stride(stride) }
    }

    // MARK: The app

    /// Takes a frame.
    /// - Parameters:
    ///   - pixels: BGRA rows from the top, `stride` bytes each; read during the call.
    ///   - size: may differ from that of the last frame.
    ///   - damage: what has changed since the last frame; nil for everything. Blocks that are equal cost no bitrate.
    public func submit(
        _ pixels: UnsafeRawPointer, stride: Int, size: PixelSize, damage: [PixelRect]? = nil
    ) throws(InAppFrameFailure) {
        try Self.check(size, stride: stride)
        state.change { state in
            let isNew = Self.adopt(size.even, &state)
            let memory = state.pixels
            for rect in isNew ? [PixelRect(size)] : damage ?? [PixelRect(size)] {
                let rect = rect.clipped(to: memory.size)
                guard !rect.isEmpty else { continue }
                for row in rect.y..<rect.maxY {
                    memcpy(memory.pixel(x: rect.x, y: row), pixels + row * stride + rect.x * 4, rect.width * 4)
                }
                state.damaged.insert(rect)
                state.hasDamage = true
            }
        }
    }

    /// Lends the source's memory to draw a frame in place. It holds the last frame, or black after a change of size.
    /// - Parameter body: gets the first pixel (BGRA) and the bytes from one row to the next; returns what it has
    ///   changed, or nil for everything. The video thread waits meanwhile.
    public func draw(
        size: PixelSize, _ body: (UnsafeMutableRawPointer, _ stride: Int) -> [PixelRect]?
    ) throws(InAppFrameFailure) {
        try Self.check(size, stride: size.width * 4)
        state.change { state in
            let isNew = Self.adopt(size.even, &state)
            let memory = state.pixels
            let damage = body(memory.base, memory.stride)
            for rect in isNew ? [PixelRect(size)] : damage ?? [PixelRect(size)] {
                state.damaged.insert(rect)
                state.hasDamage = true
            }
        }
    }

    /// - Returns: whether the memory is new.
    private static func adopt(_ size: PixelSize, _ state: inout State) -> Bool {
        guard state.pixels.size != size else { return false }
        state.pixels = PixelMemory(size)
        state.damaged = BlockMap(size)
        state.hasResized = true
        return true
    }

    /// Whether somebody receives the frames now.
    public var isCaptured: Bool { state.with { !$0.isSuspended && !$0.isClosed } }

    /// Sets the callback for changes of `isCaptured`, so that an app can hide what nobody else should see. Called on the
    /// video thread, before the next frame is read.
    public func onCapture(_ body: (@Sendable (Bool) -> Void)?) { changes.with { $0 = body } }

    // MARK: The video thread

    public var size: PixelSize { shadow.size }

    public var summary: String { "\(name), \(size.width) x \(size.height)" }

    public var limitations: [String] { [] }

    public func wait(until deadline: MediaInstant?) -> ScreenEvent {
        let event: ScreenEvent? = state.wait(until: deadline ?? .distantFuture) { state in
            if state.hasResized { return .resized(state.pixels.size) }
            if state.hasDamage { return .damaged }
            guard state.isWoken else { return nil }
            state.isWoken = false
            return .woken
        }
        if case .resized(let size) = event {
            shadow = ScreenShadow(size)
            isForced = true
        }
        return event ?? .woken
    }

    public func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        let instant = MonotonicClock.now
        let current: PixelSize = state.with { state in
            if state.pixels.size == canvas.size {
                state.hasResized = false
                state.hasDamage = false
                swap(&pending, &state.damaged)
                if state.damaged.size == state.pixels.size {
                    state.damaged.clear()
                } else {
                    state.damaged = BlockMap(state.pixels.size)
                }
            }
            return state.pixels.size
        }
        // The next `wait` reports the new size.
        guard current == canvas.size else { return instant }
        if shadow.size != current { shadow = ScreenShadow(current) }
        if isForced { pending.fill() }
        for row in 0..<pending.rows { read(row: row, into: canvas, &changed) }
        isForced = false
        return instant
    }

    /// Reads the damaged blocks of one row of blocks.
    private func read(row: Int, into canvas: I420Buffer, _ changed: inout BlockMap) {
        let blocks = row * pending.columns..<(row + 1) * pending.columns
        guard let first = pending.blocks[blocks].firstIndex(where: { $0 != 0 }),
            let last = pending.blocks[blocks].lastIndex(where: { $0 != 0 })
        else { return }
        let rect = PixelRect(
            x: (first - blocks.lowerBound) * 16, y: row * 16, width: (last - first + 1) * 16, height: 16
        ).clipped(to: canvas.size)
        state.with { state in
            // A new size is read as a whole later.
            guard state.pixels.size == canvas.size else { return }
            shadow.copyDifferences(
                state.pixels.pixel(x: rect.x, y: rect.y), stride: state.pixels.stride, rect: rect,
                isForced: isForced, canvas: canvas, converter: converter, changed: &changed)
        }
    }

    public func damageEverything() {
        isForced = true
        state.change { $0.hasDamage = true }
    }

    public func wake() { state.change { $0.isWoken = true } }

    public func suspend() { setSuspended(true) }

    public func resume() {
        setSuspended(false)
        damageEverything()
    }

    private func setSuspended(_ isSuspended: Bool) {
        state.with { $0.isSuspended = isSuspended }
        changes.with { $0 }?(!isSuspended)
    }

    public func close() {
        state.change { $0.isClosed = true }
        changes.with { $0 }?(false)
    }
}

/// The pixels of one frame size: BGRA, rows of a multiple of 64 bytes, black at first.
private final class PixelMemory {
    let size: PixelSize
    let stride: Int
    let base: UnsafeMutableRawPointer

    init(_ size: PixelSize) {
        self.size = size
        stride = (size.width * 4 + 63) & ~63
        base = .allocate(byteCount: stride * size.height, alignment: 64)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: stride * size.height)
    }

    deinit { base.deallocate() }

    func pixel(x: Int, y: Int) -> UnsafeMutableRawPointer { base + y * stride + x * 4 }
}
