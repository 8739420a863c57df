internal import CXCB
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// A line of text at the top of an X display's primary monitor, above all windows, such as "Ann controls this window".
/// No input reaches it.
///
/// Safe from any thread. The display is used on the thread `control-notice`, with a connection of its own.
public final class ControlNotice: Sendable {
    private let thread: StoppableThread

    /// - Parameters:
    ///   - text: is cleaned.
    ///   - display: nil uses `$DISPLAY`.
    /// - Throws: `.noDisplay`; `.unsupported` without SHAPE 1.1, or without a font.
    public init(_ text: String, display: String? = nil) throws(SourceFailure) {
        let connection = try OverlayConnection(display)
        // SAFETY: the thread alone uses it from here on.
        nonisolated(unsafe) let rasterizer = TextRasterizer(pixels: Int(15 * connection.scale))
        guard rasterizer?.render("a", width: 100) != nil else {
            connection.close()
            throw SourceFailure(
                .unsupported, "no text can be shown on the display: there is no font",
                remedy: "Install a font, such as the package fonts-dejavu-core.")
        }
        let text = UntrustedText.clean(text, limit: 160, fallback: "share")
        thread = try StoppableThread("control-notice", connection) { connection, wakeup, isClosed in
            ControlNoticeLoop(connection, rasterizer, text).run(wakeup, isClosed)
        }
    }

    deinit { close() }

    /// Removes it and ends the thread. May be called twice.
    public func close() { thread.close() }
}

/// The thread `control-notice`.
private final class ControlNoticeLoop {
    private let connection: OverlayConnection
    private let rasterizer: TextRasterizer?
    private let text: String
    private let window: xcb_window_t
    private var isPlaceStale = true
    /// Another window lies above it.
    private var isCovered = false
    private var raised: MediaInstant?

    private static let background: UInt32 = 0xB3261E
    /// Between two raises, as other programs may want to be the topmost, too.
    private static let raiseInterval = MediaDuration.milliseconds(500)

    init(_ connection: OverlayConnection, _ rasterizer: TextRasterizer?, _ text: String) {
        self.connection = connection
        self.rasterizer = rasterizer
        self.text = text
        window = connection.window(events: XCB_EVENT_MASK_VISIBILITY_CHANGE)
        // The screen may get another size.
        var mask = UInt32(XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue)
        xcb_change_window_attributes(connection.raw, connection.root, UInt32(XCB_CW_EVENT_MASK.rawValue), &mask)
    }

    func run(_ wakeup: Wakeup, _ isClosed: Monitor<Bool>) {
        while !isClosed.with({ $0 }), !connection.isLost {
            wakeup.consume()
            if isPlaceStale { show() }
            let now = MonotonicClock.now
            let raise = isCovered ? raised.map { max($0 + Self.raiseInterval, now) } ?? now : nil
            if let raise, raise <= now {
                var mode = UInt32(XCB_STACK_MODE_ABOVE.rawValue)
                xcb_configure_window(
                    connection.raw, window, UInt16(XCB_CONFIG_WINDOW_STACK_MODE.rawValue), &mode)
                (isCovered, raised) = (false, now)
            }
            xcb_flush(connection.raw)
            // Round trips and the flush may have brought events into xcb's queue.
            if handleEvents() { continue }
            wakeup.wait(or: connection.descriptor, until: isCovered ? raise : nil)
        }
    }

    /// - Returns: whether there were any.
    private func handleEvents() -> Bool {
        var hasAny = false
        while let event = xcb_poll_for_event(connection.raw) {
            hasAny = true
            switch Int32(event.pointee.response_type & 0x7F) {
            case XCB_VISIBILITY_NOTIFY:
                let state = UnsafeRawPointer(event).load(as: xcb_visibility_notify_event_t.self).state
                isCovered = state != UInt8(XCB_VISIBILITY_UNOBSCURED.rawValue)
            case XCB_CONFIGURE_NOTIFY: isPlaceStale = true
            default: break
            }
            free(event)
        }
        return hasAny
    }

    private func show() {
        isPlaceStale = false
        let raw = connection.raw
        let monitor = primaryMonitor()
        guard
            let label = OverlayLabel(
                text, background: Self.background, width: monitor.width, rasterizer, connection)
        else { return }
        var pixmap = label.pixmap
        // The server draws it whenever it is uncovered, and keeps it as long as that is needed.
        xcb_change_window_attributes(raw, window, UInt32(XCB_CW_BACK_PIXMAP.rawValue), &pixmap)
        xcb_free_pixmap(raw, pixmap)
        let fields =
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue | XCB_CONFIG_WINDOW_WIDTH.rawValue
            | XCB_CONFIG_WINDOW_HEIGHT.rawValue | XCB_CONFIG_WINDOW_STACK_MODE.rawValue
        let x = monitor.x + (monitor.width - label.size.width) / 2
        let values = [
            UInt32(bitPattern: Int32(x)), UInt32(bitPattern: Int32(monitor.y)), UInt32(label.size.width),
            UInt32(label.size.height), UInt32(XCB_STACK_MODE_ABOVE.rawValue),
        ]
        xcb_configure_window(raw, window, UInt16(fields), values)
        xcb_map_window(raw, window)
        xcb_clear_area(raw, 0, window, 0, 0, 0, 0)
    }

    /// The whole screen if the server knows no monitors (RANDR 1.5).
    private func primaryMonitor() -> PixelRect {
        let raw = connection.raw
        var rect = PixelRect(x: 0, y: 0, width: 640, height: 480)
        if let reply = xcb_get_geometry_reply(raw, xcb_get_geometry(raw, connection.root), nil) {
            rect = PixelRect(x: 0, y: 0, width: Int(reply.pointee.width), height: Int(reply.pointee.height))
            free(reply)
        }
        guard let randr = cxcb_randr(raw), randr.pointee.present != 0 else { return rect }
        free(xcb_randr_query_version_reply(raw, xcb_randr_query_version(raw, 1, 5), nil))
        guard let reply = xcb_randr_get_monitors_reply(raw, xcb_randr_get_monitors(raw, connection.root, 1), nil) else {
            return rect
        }
        defer { free(reply) }
        var monitors = xcb_randr_get_monitors_monitors_iterator(reply)
        var isFirst = true
        while monitors.rem > 0, let monitor = monitors.data?.pointee {
            if isFirst || monitor.primary != 0, monitor.width > 0 {
                rect = PixelRect(
                    x: Int(monitor.x), y: Int(monitor.y), width: Int(monitor.width), height: Int(monitor.height))
                isFirst = false
            }
            xcb_randr_monitor_info_next(&monitors)
        }
        return rect
    }
}
