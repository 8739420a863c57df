internal import CXCB
internal import FrameDifference
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
    let features: Features

    let reader: ImageReader
    var shadow: ScreenShadow
    let cursor = CursorLayer()
    var damageID: xcb_damage_damage_t = 0
    var scans = ScreenScanSchedule()

    var pending: PendingDamage
    var isGeometryStale = false
    var hasPendingResize = false
    private var plan = DamageRectangles()
    /// Consecutive failed reads without a change of size.
    private var failedReads = 0

    public var size: PixelSize { shadow.size }

    /// The features of the server.
    struct Features {
        var hasDamage: Bool
        var hasCursor: Bool
        var hasMotion: Bool
    }

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
        features = Features(
            hasDamage: connection.damage != nil, hasCursor: connection.xfixes != nil,
            hasMotion: connection.xinput != nil)
        let size = connection.initialSize.even
        guard size.width > 0, size.height > 0 else { throw connection.gone }
        reader = ImageReader(connection, size: size)
        shadow = ScreenShadow(size)
        pending = PendingDamage(size)
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
            if pending.isDamaged || pending.isForced || features.hasCursor && pending.isCursorStale { return .damaged }
            let now = MonotonicClock.now
            if !features.hasDamage && now >= scans.next {
                pending.fill()
                return .damaged
            }
            if wakeup.consume() { return .woken }
            if let deadline, now >= deadline { return .woken }
            let scan = features.hasDamage ? nil : scans.next
            wakeup.wait(or: connection.descriptor, until: scan.map { min($0, deadline ?? $0) } ?? deadline)
        }
    }

    public func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant {
        let connection = try takeEvents()
        if hasPendingResize && canvas.size != size { return MonotonicClock.now }
        precondition(canvas.size == size && changed.size == size, "canvas of \(canvas.size), screen of \(size)")
        hasPendingResize = false
        let instant = MonotonicClock.now
        if features.hasDamage && pending.isDamaged {
            // Anything drawn from here on is reported again. Anything drawn before is in the pixels requested next.
            xcb_damage_subtract(connection.raw, damageID, 0, 0)
        }
        if pending.isForced { pending.fill() }
        let pointer = features.hasCursor ? xcb_query_pointer_unchecked(connection.raw, connection.root) : nil
        let image = features.hasCursor && pending.isCursorImageStale ? xcb_xfixes_get_cursor_image(connection.raw) : nil
        if pending.isDamaged { plan.make(for: pending.blocks) } else { plan.clear() }

        let before = features.hasDamage ? 0 : changed.count
        let isComplete = try reader.read(plan.rects) { rect, pixels, stride in
            shadow.copyDifferences(
                pixels, stride: stride, rect: rect, isForced: pending.isForced, canvas: canvas, converter: converter,
                changed: &changed)
        }
        takeCursor(connection, pointer, image)
        guard isComplete else {
            // The server refused because the screen shrank; the event for that has not been handled yet.
            isGeometryStale = true
            pending.isForced = true
            _ = try takeEvents()
            failedReads = hasPendingResize ? 0 : failedReads + 1
            if failedReads == 3 { throw .refused(name) }
            return instant
        }
        failedReads = 0
        if pending.isForced { cursor.forget() }
        pending.isForced = false
        pending.isDamaged = false
        pending.blocks.clear()
        cursor.draw(on: canvas, over: shadow, converter: converter, changed: &changed)
        if !features.hasDamage { scans.recordScan(at: instant, foundChange: changed.count != before) }
        return instant
    }

    public func damageEverything() { pending.isForced = true }

    public func wake() { wakeup.signal() }

    public func suspend() {
        guard let connection else { return }
        listen(connection, false)
        // A round trip: all earlier events have arrived afterwards and are dropped here.
        free(xcb_get_input_focus_reply(connection.raw, xcb_get_input_focus(connection.raw), nil))
        while let event = xcb_poll_for_event(connection.raw) { free(event) }
        pending.isDamaged = false
        pending.isPointerMoved = false
        pending.isCursorImageStale = false
    }

    public func resume() {
        guard let connection else { return }
        pending.fill()
        pending.isPointerMoved = true
        pending.isCursorImageStale = true
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
