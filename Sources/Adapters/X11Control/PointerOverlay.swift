internal import CXCB
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// Shows viewers' pointers over a window of an X display, to whoever uses it. Nothing else is covered, no input is
/// caught, and captures of the window do not have it. It lies directly above the window: what covers the window covers
/// it, too. While the window is hidden, nothing is shown.
///
/// Safe from any thread. The display is used on the thread `pointers`, with a connection of its own. When the server or
/// the window has gone, nothing is shown any more.
public final class PointerOverlay: Sendable {
    private let marks: Monitor<PointerMarks>
    private let thread: StoppableThread

    /// - Parameters:
    ///   - display: nil uses `$DISPLAY`.
    ///   - window: whose picture viewers see.
    /// - Throws: `.noDisplay`; `.noSuchDevice` if there is no such window; `.unsupported` without SHAPE 1.1.
    public init(display: String? = nil, window: UInt32) throws(SourceFailure) {
        let connection = try OverlayConnection(display)
        guard let found = xcb_get_geometry_reply(connection.raw, xcb_get_geometry(connection.raw, window), nil) else {
            connection.close()
            throw SourceFailure(
                .noSuchDevice, "there is no \(CaptureSource.window(.id(window)).text)",
                remedy: "share sources lists the windows.")
        }
        free(found)
        let marks = Monitor(PointerMarks())
        self.marks = marks
        thread = try StoppableThread("pointers", connection) { connection, wakeup, isClosed in
            PointerOverlayLoop(connection, window, marks).run(wakeup, isClosed)
        }
    }

    deinit { close() }

    /// Takes over what viewers have done, and returns at once. Pointers, lines and rings fade by themselves.
    public func show(_ events: PointerEvents) {
        marks.with { $0.handle(events, now: MonotonicClock.now) }
        thread.wake()
    }

    /// Removes the overlay and ends the thread. May be called twice.
    public func close() { thread.close() }
}

/// The thread `pointers`.
private final class PointerOverlayLoop {
    private let connection: OverlayConnection
    private let marks: Monitor<PointerMarks>
    private let drawing: PointerDrawing
    private let overlay: xcb_window_t
    private var window: OverlaidWindow
    private var place: WindowPlace?
    /// The window may have moved, or lie elsewhere among the others.
    private var isPlaceStale = true
    /// Whether it has to be put above the window again.
    private var isOrderStale = true
    /// The overlay's content has to be drawn.
    private var isExposed = false
    /// What is on the screen; nil: nothing, as it is not mapped.
    private var shown: (marks: [PointerMark], rect: PixelRect)?
    private var mask: (pixmap: xcb_pixmap_t, size: PixelSize)?

    init(_ connection: OverlayConnection, _ window: xcb_window_t, _ marks: Monitor<PointerMarks>) {
        self.connection = connection
        self.marks = marks
        self.window = OverlaidWindow(window, connection)
        drawing = PointerDrawing(connection)
        overlay = connection.window(events: XCB_EVENT_MASK_EXPOSURE)
    }

    func run(_ wakeup: Wakeup, _ isClosed: Monitor<Bool>) {
        while !isClosed.with({ $0 }), !connection.isLost {
            wakeup.consume()
            if isPlaceStale {
                isPlaceStale = false
                place = window.look()
            }
            let now = MonotonicClock.now
            let (marks, change) = self.marks.with { ($0.marks(at: now), $0.nextChange(after: now)) }
            update(marks)
            xcb_flush(connection.raw)
            // Round trips and the flush may have brought events into xcb's queue.
            if handleEvents() { continue }
            wakeup.wait(or: connection.descriptor, until: shown == nil ? nil : change)
        }
    }

    /// - Returns: whether there were any.
    private func handleEvents() -> Bool {
        var hasAny = false
        while let event = xcb_poll_for_event(connection.raw) {
            hasAny = true
            if Int32(event.pointee.response_type & 0x7F) == XCB_EXPOSE { isExposed = true }
            if window.isConcerned(by: event) { (isPlaceStale, isOrderStale) = (true, true) }
            free(event)
        }
        return hasAny
    }

    private func update(_ marks: [PointerMark]) {
        guard !marks.isEmpty, let place, place.isShown, !place.rect.isEmpty else {
            if shown != nil { xcb_unmap_window(connection.raw, overlay) }
            shown = nil
            return
        }
        let size = PixelSize(width: place.rect.width, height: place.rect.height)
        // Pixels are not translucent here: what fades is shown until its end.
        let marks = marks.map(\.opaque)
        let isChanged = shown.map { $0.marks != marks || $0.rect.width != size.width || $0.rect.height != size.height }
        if isOrderStale || shown?.rect != place.rect { configure(place) }
        if isChanged ?? true {
            drawing.prepare(marks)
            setShape(marks, size)
        }
        if shown == nil { xcb_map_window(connection.raw, overlay) }
        if isChanged ?? true || isExposed {
            drawing.draw(marks, size, on: OverlayCanvas(connection, overlay, isMask: false))
        }
        isExposed = false
        shown = (marks, place.rect)
    }

    /// Puts it onto the window, and directly above it.
    private func configure(_ place: WindowPlace) {
        isOrderStale = false
        let fields =
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue | XCB_CONFIG_WINDOW_WIDTH.rawValue
            | XCB_CONFIG_WINDOW_HEIGHT.rawValue
        let rect = place.rect
        let values = [
            UInt32(bitPattern: Int32(rect.x)), UInt32(bitPattern: Int32(rect.y)), UInt32(rect.width),
            UInt32(rect.height),
        ]
        xcb_configure_window(connection.raw, overlay, UInt16(fields), values)
        // A request of its own, as it fails if the window has got another frame meanwhile.
        let order = [place.topLevel, UInt32(XCB_STACK_MODE_ABOVE.rawValue)]
        xcb_configure_window(
            connection.raw, overlay,
            UInt16(XCB_CONFIG_WINDOW_SIBLING.rawValue | XCB_CONFIG_WINDOW_STACK_MODE.rawValue), order)
    }

    /// Gives the overlay the shape of what is drawn.
    private func setShape(_ marks: [PointerMark], _ size: PixelSize) {
        if let old = mask, old.size != size {
            xcb_free_pixmap(connection.raw, old.pixmap)
            mask = nil
        }
        let mask = self.mask ?? (connection.pixmap(size, isMask: true), size)
        self.mask = mask
        let canvas = OverlayCanvas(connection, mask.pixmap, isMask: true)
        canvas.clear(size)
        drawing.draw(marks, size, on: canvas)
        xcb_shape_mask(
            connection.raw, xcb_shape_op_t(XCB_SHAPE_SO_SET.rawValue),
            xcb_shape_kind_t(XCB_SHAPE_SK_BOUNDING.rawValue), overlay, 0, 0, mask.pixmap)
    }
}

extension PointerMark {
    fileprivate var opaque: PointerMark {
        var mark = self
        mark.opacity = 1
        for index in mark.lines.indices { mark.lines[index].opacity = 1 }
        return mark
    }
}
