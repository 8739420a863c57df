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
    private var connection: X11Connection?
    private let name: String
    private let hasDamage: Bool
    private let hasCursor: Bool
    private let hasMotion: Bool

    let reader: ImageReader
    private var shadow: ScreenShadow
    private let cursor = CursorLayer()
    private var damageID: xcb_damage_damage_t = 0
    private var scans = ScanClock()

    /// The blocks that were drawn on since the last read.
    private var damaged: BlockMap
    private var isDamaged = true
    /// The canvas holds nothing of this screen, so every block must be converted.
    private var isForced = true
    private var isPointerMoved = false
    private var isCursorImageStale = true
    private var isGeometryStale = false
    private var hasPendingResize = false
    private var plan = ReadPlan()
    /// Consecutive failed reads without a change of size.
    private var failedReads = 0

    public private(set) var size: PixelSize

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

    public var limitations: [String] {
        var sentences: [String] = []
        if getenv("WAYLAND_DISPLAY") != nil, name == getenv("DISPLAY").map({ String(cString: $0) }) {
            sentences.append(
                "This is a Wayland session: display \(name) shows only the windows of X11 programs and the rest stays "
                    + "black. Log in to an X11 (Xorg) session to share the whole screen.")
        }
        if !hasDamage {
            sentences.append(
                "Display \(name) does not tell what changes (no DAMAGE extension): the whole screen is compared up to ten "
                    + "times a second, which costs processor time.")
        }
        if !reader.usesSharedMemory {
            sentences.append(
                "Display \(name) shares no memory (no MIT-SHM 1.2, or on another machine): pictures come over its socket, "
                    + "which is slower.")
        }
        if !hasCursor {
            sentences.append("Display \(name) does not tell the cursor's shape (no XFIXES extension): it is not shown.")
        } else if !hasMotion {
            sentences.append(
                "Display \(name) does not tell when the mouse moves (no XInput 2): the cursor moves only when "
                    + "something else changes.")
        }
        return sentences
    }

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

    // MARK: - X events

    private func listen(_ connection: X11Connection, _ isOn: Bool) {
        if hasDamage {
            if isOn && damageID == 0 {
                // This level reports only areas that are not yet part of the damage, as separate rectangles. That
                // avoids a bounding box over half the screen, a flood of events, and a round trip to fetch a region.
                damageID = xcb_generate_id(connection.raw)
                xcb_damage_create(
                    connection.raw, damageID, connection.root, UInt8(XCB_DAMAGE_REPORT_LEVEL_DELTA_RECTANGLES.rawValue))
            } else if !isOn && damageID != 0 {
                xcb_damage_destroy(connection.raw, damageID)
                damageID = 0
            }
        }
        if hasCursor {
            let mask = isOn ? XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue : 0
            xcb_xfixes_select_cursor_input(connection.raw, connection.root, mask)
            if hasMotion { cxcb_select_motion(connection.raw, connection.root, isOn ? 1 : 0) }
        }
        xcb_flush(connection.raw)
    }

    /// Handles all pending events without waiting, and a change of the screen size (one round trip).
    private func takeEvents() throws(SourceFailure) -> X11Connection {
        guard let connection else {
            throw SourceFailure(.displayGone, "display \(name) was closed", remedy: "Open it again.")
        }
        while let event = xcb_poll_for_event(connection.raw) {
            take(event, connection)
            free(event)
        }
        try connection.checkAlive()
        guard isGeometryStale else { return connection }
        isGeometryStale = false
        let now = try connection.rootSize().even
        guard now != size, now.width > 0, now.height > 0 else { return connection }
        size = now
        reader.resize(now)
        shadow = ScreenShadow(now)
        damaged = BlockMap(now, filled: true)
        isDamaged = true
        isForced = true
        hasPendingResize = true
        return connection
    }

    private func take(_ event: UnsafeMutablePointer<xcb_generic_event_t>, _ connection: X11Connection) {
        let raw = UnsafeRawPointer(event)
        let type = event.pointee.response_type & 0x7f
        if let damage = connection.damage, type == damage.firstEvent &+ UInt8(XCB_DAMAGE_NOTIFY) {
            let area = raw.load(as: xcb_damage_notify_event_t.self).area
            damaged.insert(
                PixelRect(x: Int(area.x), y: Int(area.y), width: Int(area.width), height: Int(area.height)))
            isDamaged = true
        } else if let xfixes = connection.xfixes, type == xfixes.firstEvent &+ UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
            isCursorImageStale = true
        } else if let randr = connection.randr, type == randr.firstEvent &+ UInt8(XCB_RANDR_SCREEN_CHANGE_NOTIFY) {
            isGeometryStale = true
        } else if type == UInt8(XCB_CONFIGURE_NOTIFY) {
            if raw.load(as: xcb_configure_notify_event_t.self).window == connection.root { isGeometryStale = true }
        } else if type == UInt8(XCB_GE_GENERIC), let xinput = connection.xinput {
            let generic = raw.load(as: xcb_ge_generic_event_t.self)
            // Only motion and raw motion were selected.
            if generic.extension == xinput.opcode {
                isPointerMoved = true
                scans.advance()
            }
        }
    }

    private func damageAll() {
        damaged.fill()
        isDamaged = true
    }

    private func takeCursor(
        _ connection: X11Connection, _ pointer: xcb_query_pointer_cookie_t?,
        _ image: xcb_xfixes_get_cursor_image_cookie_t?
    ) {
        isPointerMoved = false
        if let pointer, let reply = xcb_query_pointer_reply(connection.raw, pointer, nil) {
            defer { free(reply) }
            cursor.setPosition(
                x: Int(reply.pointee.root_x), y: Int(reply.pointee.root_y), isVisible: reply.pointee.same_screen != 0)
        }
        guard let image else { return }
        isCursorImageStale = false
        guard let reply = xcb_xfixes_get_cursor_image_reply(connection.raw, image, nil) else {
            cursor.setShape(CursorLayer.Shape(), UnsafeBufferPointer(start: nil, count: 0))
            return
        }
        defer { free(reply) }
        let width = Int(reply.pointee.width)
        let height = Int(reply.pointee.height)
        guard let pixels = xcb_xfixes_get_cursor_image_cursor_image(reply),
            Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply)) >= width * height
        else { return }
        cursor.setShape(
            CursorLayer.Shape(
                width: width, height: height, hotX: Int(reply.pointee.xhot), hotY: Int(reply.pointee.yhot)),
            UnsafeBufferPointer(start: pixels, count: width * height))
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
