internal import FrameDifference
internal import LinuxRuntime
public import MediaCore

/// One consumer's view of an app's surface. It reads the damaged blocks, and reports those that really differ.
// SAFETY: `size`, `shadow`, `pending`, `isForced` and `wasPlanar` belong to the video thread; all else is in the
// surface's Monitor.
public final class InAppScreen: ScreenSource, @unchecked Sendable {
    private let surface: InAppSurface
    private let id: Int
    public private(set) var size: PixelSize
    /// The last frame as BGRA; nil while the app hands in planes, which are compared with the canvas.
    private var shadow: ScreenShadow?
    private var pending: BlockMap
    private var isForced = true
    private var wasPlanar = false

    init(_ surface: InAppSurface) {
        self.surface = surface
        let (id, size) = surface.state.with { ($0.addReader(), $0.pixels.size) }
        self.id = id
        self.size = size
        pending = BlockMap(size)
    }

    deinit { surface.changeReaders { $0.removeReader(id) } }

    public var summary: String { "\(surface.name), \(size.width) x \(size.height)" }

    public var limitations: [String] { [] }

    public func wait(until deadline: MediaInstant?) -> ScreenEvent {
        let event: ScreenEvent? = surface.state.wait(until: deadline ?? .distantFuture) { state in
            let current = state.pixels.size
            return state.withReader(id) { reader -> ScreenEvent? in
                if reader.hasResized { return .resized(current) }
                if reader.hasDamage { return .damaged }
                guard reader.isWoken else { return nil }
                reader.isWoken = false
                return .woken
            } ?? .woken
        }
        if case .resized(let new) = event {
            size = new
            shadow = nil
            isForced = true
        }
        return event ?? .woken
    }

    public func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        let instant = MonotonicClock.now
        let isPlanar: Bool? = surface.state.with { state in
            // The next `wait` reports the new size.
            guard state.pixels.size == canvas.size else { return nil }
            state.withReader(id) { reader in
                reader.hasResized = false
                reader.hasDamage = false
                swap(&pending, &reader.damaged)
                if reader.damaged.size == canvas.size {
                    reader.damaged.clear()
                } else {
                    reader.damaged = BlockMap(canvas.size)
                }
            }
            return state.pixels.isPlanar
        }
        guard let isPlanar else { return instant }
        size = canvas.size
        if isPlanar != wasPlanar { isForced = true }
        wasPlanar = isPlanar
        if isPlanar {
            shadow = nil
        } else if shadow?.size != canvas.size {
            shadow = ScreenShadow(canvas.size)
            isForced = true
        }
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
        surface.state.with { state in
            // A new size or form is read as a whole later.
            guard state.pixels.size == canvas.size, state.pixels.isPlanar == wasPlanar else { return }
            if case .planar(let buffer) = state.pixels {
                PlaneDifference.copy(buffer.frame, rect: rect, isForced: isForced, canvas: canvas, changed: &changed)
            } else if let (base, stride) = state.pixels.packed {
                shadow?.copyDifferences(
                    base + rect.y * stride + rect.x * 4, stride: stride, rect: rect, isForced: isForced,
                    canvas: canvas, converter: surface.converter, changed: &changed)
            }
        }
    }

    /// Marks everything as damaged. Before the app's first frame there is nothing to read, and `wait` does not return.
    public func damageEverything() {
        isForced = true
        surface.state.change { state in
            let isDrawn = state.isDrawn
            state.withReader(id) { $0.hasDamage = isDrawn }
        }
    }

    public func wake() { surface.state.change { state in state.withReader(id) { $0.isWoken = true } } }

    public func suspend() { enter(.suspended) }

    public func resume() {
        enter(.captured)
        damageEverything()
    }

    private func enter(_ phase: SurfaceReader.Phase) {
        surface.changeReaders { state in state.withReader(id) { $0.phase = phase } }
    }

    public func close() {
        surface.changeReaders { $0.removeReader(id) }
    }
}
