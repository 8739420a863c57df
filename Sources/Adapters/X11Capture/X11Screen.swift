internal import CXCB
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// Captures a whole X11 screen. DAMAGE reports the areas that were drawn on; only those are read, through MIT-SHM, and
/// only blocks that really differ are converted.
/// The cursor image comes from XFixes and is drawn in; raw motion events (XInput 2) report its movement.
///
/// Only a server without DAMAGE is polled.
/// - Isolation: one thread at a time; `wake` from any thread.
public final class X11Screen: ScreenSource {
    private let converter: any PixelConverter
    private let wakeup: Wakeup
    /// nil after `close`.
    var connection: X11Connection?
    let name: String
    let hasDamage: Bool
    let hasCursor: Bool
    let hasMotion: Bool

    let reader: ImageReader
    var shadow: ScreenShadow
    let cursor = CursorLayer()
    var damageID: xcb_damage_damage_t = 0
    var scans = ScanClock()

    /// The blocks that were drawn on since the last read.
    var damaged: BlockMap
    var isDamaged = true
    /// The canvas holds nothing of this screen, so every block must be converted.
    var isForced = true
    var isPointerMoved = false
    var isCursorImageStale = true
    var isGeometryStale = false
    var hasPendingResize = false
    private var plan = ReadPlan()
    /// Consecutive failed reads without a change of size.
    private var failedReads = 0

    public internal(set) var size: PixelSize

    /// - Parameter display: such as ":0"; nil uses `$DISPLAY`.
    /// - Throws: `.noDisplay`, `.unsupported` (pixels are not 24-bit colour in 32 bits), `.notPermitted`.
    public init(display: String?, converter: any PixelConverter) throws(SourceFailure) {
        let connection = try X11Connection(display)
        do throws(Wakeup.Failure) {
            wakeup = try Wakeup()
        } catch {
            throw SourceFailure(
                .unsupported, "no descriptor is left to wait with (errno \(error.code))",
                remedy: "Raise the limit of open files (ulimit -n).")
        }
        self.connection = connection
        self.converter = converter
        name = connection.name
        hasDamage = connection.damage != nil
        hasCursor = connection.xfixes != nil
        hasMotion = connection.xinput != nil
        size = connection.initialSize.even
        guard size.width > 0, size.height > 0 else { throw connection.gone }
        reader = ImageReader(connection, size: size)
        shadow = ScreenShadow(size)
        damaged = BlockMap(size, filled: true)
        var mask = UInt32(XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue)
        xcb_change_window_attributes(connection.raw, connection.root, UInt32(XCB_CW_EVENT_MASK.rawValue), &mask)
        if connection.randr != nil {
            xcb_randr_select_input(
                connection.raw, connection.root, UInt16(XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue))
        }
        // The size may have changed before the events were selected.
        isGeometryStale = true
        listen(connection, true)
        let probe = PixelRect(x: 0, y: 0, width: 2, height: 2)
        guard try reader.read([probe], { _, _, _ in }) else { throw .refused(name) }
    }

    deinit { close() }

    public var summary: String { "display \(name), \(size.width) x \(size.height)" }

    public func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent {
        while true {
            let connection = try takeEvents()
            if hasPendingResize {
                hasPendingResize = false
                return .resized(size)
            }
            if isDamaged || isForced || hasCursor && (isPointerMoved || isCursorImageStale) { return .damaged }
            let now = MonotonicClock.now
            if !hasDamage && now >= scans.next {
                damageAll()
                return .damaged
            }
            if wakeup.consume() { return .woken }
            if let deadline, now >= deadline { return .woken }
            let scan = hasDamage ? nil : scans.next
            wakeup.wait(or: connection.descriptor, until: scan.map { min($0, deadline ?? $0) } ?? deadline)
        }
    }

    public func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant {
        let connection = try takeEvents()
        if hasPendingResize && canvas.size != size { return MonotonicClock.now }
        precondition(canvas.size == size && changed.size == size, "canvas of \(canvas.size), screen of \(size)")
        hasPendingResize = false
        let instant = MonotonicClock.now
        if hasDamage && isDamaged {
            // Anything drawn from here on is reported again. Anything drawn before is in the pixels requested next.
            xcb_damage_subtract(connection.raw, damageID, 0, 0)
        }
        if isForced { damageAll() }
        let pointer = hasCursor ? xcb_query_pointer_unchecked(connection.raw, connection.root) : nil
        let image = hasCursor && isCursorImageStale ? xcb_xfixes_get_cursor_image(connection.raw) : nil
        if isDamaged { plan.make(for: damaged) } else { plan.clear() }

        let before = hasDamage ? 0 : changed.count
        let isComplete = try reader.read(plan.rects) { rect, pixels, stride in
            shadow.absorb(
                pixels, stride: stride, rect: rect, isForced: isForced, canvas: canvas, converter: converter,
                changed: &changed)
        }
        takeCursor(connection, pointer, image)
        guard isComplete else {
            // The server refused because the screen shrank; the event for that has not been handled yet.
            isGeometryStale = true
            isForced = true
            _ = try takeEvents()
            failedReads = hasPendingResize ? 0 : failedReads + 1
            if failedReads == 3 { throw .refused(name) }
            return instant
        }
        failedReads = 0
        if isForced { cursor.forget() }
        isForced = false
        isDamaged = false
        damaged.clear()
        cursor.draw(on: canvas, over: shadow, converter: converter, changed: &changed)
        if !hasDamage { scans.recordScan(at: instant, foundChange: changed.count != before) }
        return instant
    }

    public func damageEverything() { isForced = true }

    public func wake() { wakeup.signal() }

    public func suspend() {
        guard let connection else { return }
        listen(connection, false)
        // A round trip: all earlier events have arrived afterwards and are dropped here.
        free(xcb_get_input_focus_reply(connection.raw, xcb_get_input_focus(connection.raw), nil))
        while let event = xcb_poll_for_event(connection.raw) { free(event) }
        isDamaged = false
        isPointerMoved = false
        isCursorImageStale = false
    }

    public func resume() {
        guard let connection else { return }
        damageAll()
        isPointerMoved = true
        isCursorImageStale = true
        isGeometryStale = true
        listen(connection, true)
    }

    public func close() {
        guard let connection else { return }
        listen(connection, false)
        reader.close()
        connection.close()
        self.connection = nil
    }
}

extension SourceFailure {
    fileprivate static func refused(_ display: String) -> SourceFailure {
        SourceFailure(
            .notPermitted, "display \(display) does not let its pictures be read",
            remedy:
                "A connection forwarded with ssh -X may not read the screen: use ssh -Y, or run share on the machine itself."
        )
    }
}
