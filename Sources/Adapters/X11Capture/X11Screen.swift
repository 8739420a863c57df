internal import CXCB
internal import FrameDifference
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// Captures an X11 screen, a part of it, or a window. DAMAGE reports the areas that were drawn on; only those are read,
/// through MIT-SHM, and only blocks that really differ are converted.
/// The cursor image comes from XFixes and is drawn in; raw motion events (XInput 2) report its movement.
///
/// Of a screen, windows that are not to be seen are black before their pixels are compared or converted. Only a server
/// without DAMAGE is polled.
/// - Isolation: one thread at a time; `wake` from any thread.
public final class X11Screen: ScreenSource {
    /// How long the size of a window stays, so that pulling at its edge makes few new sizes.
    static let shortestResize = MediaDuration.milliseconds(200)
    /// A read is repeated when windows moved meanwhile; the last of these holds the server.
    private static let attempts = 4
    /// How often `takeEvents` brings up to date what is stale.
    static let updatesAtOnce = 4
    /// The server is asked for damage that no event has told of when none was taken for this long.
    static let damageCheckInterval = MediaDuration.milliseconds(800)

    private let converter: any PixelConverter
    let wakeup: Wakeup
    /// nil after `close`.
    var connection: X11Connection?
    let name: String
    let features: Features

    let target: CaptureTarget
    let desktop: DesktopObserver
    let reader: ImageReader
    var area: CaptureArea
    var shadow: ScreenShadow
    var cursor: Cursor
    var damage = DamageSubscription()
    var scans = ScreenScanSchedule()

    var pending: PendingDamage
    var geometry = Geometry()

    public var size: PixelSize { shadow.size }

    /// The features of the server that are used.
    struct Features {
        var hasDamage: Bool
        /// The cursor is read: it is wanted, and the server tells its shape.
        var hasCursor: Bool
        var hasMotion: Bool
        /// The cursor is wanted, and the server does not tell its shape.
        var lacksCursor: Bool
    }

    /// Whether the place of the target is known.
    struct Geometry {
        /// It has to be found out, at `due` or later.
        var isStale = false
        var due = MediaInstant(nanoseconds: 0)
        /// Consecutive failed reads without a change of size.
        var failedReads = 0
    }

    struct Cursor {
        let layer = CursorLayer()
        var visibility: CursorVisibility
    }

    /// The damage object of the server, and the window that it is of.
    struct DamageSubscription {
        var id: xcb_damage_damage_t = 0
        var window: xcb_window_t = 0
        /// When the server is asked for damage that was not taken; nil if it is not asked.
        ///
        /// With DELTA_RECTANGLES an area is reported once until it is subtracted, so a lost event would hide all that
        /// is drawn there from then on.
        var checkDue: MediaInstant?
    }

    private enum ReadResult { case complete, moved, refused }

    /// - Parameters:
    ///   - display: such as ":0"; nil uses `$DISPLAY`.
    ///   - source: the screen, a monitor, a region or a window.
    ///   - report: is told of changes during the capture, such as that the window was closed; on the capturing thread.
    /// - Throws: `.noDisplay`, `.unsupported` (pixels are not 24-bit colour in 32 bits; a side of more than 16,383
    ///   pixels; no XComposite for a window), `.noSuchDevice` (no such monitor, region or window), `.notPermitted`.
    public init(
        display: String?, source: CaptureSource = .screen, options: CaptureOptions = CaptureOptions(),
        converter: any PixelConverter, report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SourceFailure) {
        let connection = try X11Connection(display)
        wakeup = try Wakeup.forSource()
        self.connection = connection
        self.converter = converter
        name = connection.name
        let showsCursor = options.cursor != .no
        features = Features(
            hasDamage: connection.damage != nil, hasCursor: showsCursor && connection.xfixes != nil,
            hasMotion: connection.xinput != nil, lacksCursor: showsCursor && connection.xfixes == nil)
        cursor = Cursor(visibility: CursorVisibility(options.cursor))
        desktop = DesktopObserver(connection, hiddenWindows: options.hiddenWindows)
        // Before the windows are read, so that no change is missed.
        desktop.listen(connection, true)
        target = try CaptureTarget(source, connection, desktop, report: report)
        area = target.area
        reader = ImageReader(connection, size: area.size)
        shadow = ScreenShadow(area.size)
        pending = PendingDamage(area.size)
        // The size may have changed before the events were selected.
        geometry.isStale = true
        listen(connection, true)
        let probe = PixelRect(x: 0, y: 0, width: 2, height: 2)
        guard try reader.read([probe], of: area, { _, _, _ in }) else { throw .refused(name) }
    }

    deinit { close() }

    /// The window that is captured; nil for others.
    public var windowID: UInt32? { target.window?.id }

    public var summary: String {
        "\(target.description) \(name), \(size.width) x \(size.height)"
    }

    public func wait(until deadline: MediaInstant?) throws(SourceFailure) -> ScreenEvent {
        while true {
            let connection = try takeEvents()
            if pending.isResized {
                pending.isResized = false
                return .resized(size)
            }
            if pending.isDamaged || pending.isForced || features.hasCursor && pending.isCursorStale { return .damaged }
            let now = MonotonicClock.now
            if !features.hasDamage && now >= scans.next {
                pending.fill()
                return .damaged
            }
            if let hides = cursor.visibility.deadline, now >= hides {
                pending.isPointerMoved = true
                return .damaged
            }
            if wakeup.consume() { return .woken }
            if let deadline, now >= deadline { return .woken }
            // The only place that sleeps: nothing is stale, nothing is in xcb's queue, and nothing in its output
            // buffer.
            if isStale(at: now) { continue }
            xcb_flush(connection.raw)
            if takeQueuedEvents(connection) { continue }
            wakeup.wait(or: connection.descriptor, until: nextDeadline(before: deadline))
        }
    }

    private func nextDeadline(before deadline: MediaInstant?) -> MediaInstant? {
        var next = deadline
        if !features.hasDamage { next = earlier(next, scans.next) }
        if let hides = cursor.visibility.deadline { next = earlier(next, hides) }
        if let expiry = desktop.concealed.nextExpiry { next = earlier(next, expiry) }
        if geometry.isStale { next = earlier(next, geometry.due) }
        if let due = damage.checkDue { next = earlier(next, due) }
        return next
    }

    private func earlier(_ a: MediaInstant?, _ b: MediaInstant) -> MediaInstant { a.map { min($0, b) } ?? b }

    public func read(into canvas: I420Buffer, changed: inout BlockMap) throws(SourceFailure) -> MediaInstant {
        for attempt in 1...Self.attempts {
            let connection = try takeEvents()
            if pending.isResized && canvas.size != size { return MonotonicClock.now }
            precondition(canvas.size == size && changed.size == size, "canvas of \(canvas.size), screen of \(size)")
            pending.isResized = false
            let instant = MonotonicClock.now
            let holdsServer = attempt == Self.attempts
            if holdsServer {
                // Windows cannot move between the look at them and the read.
                xcb_grab_server(connection.raw)
                desktop.isStale = true
                _ = try takeEvents()
            }
            defer {
                if holdsServer {
                    xcb_ungrab_server(connection.raw)
                    xcb_flush(connection.raw)
                }
            }
            if pending.isResized && canvas.size != size { return instant }
            switch try readOnce(connection, canvas, &changed, at: instant, isLast: holdsServer) {
            case .complete:
                geometry.failedReads = 0
                return instant
            case .moved: continue
            case .refused:
                // The server refused because the screen shrank; the event for that has not been handled yet.
                geometry.isStale = true
                pending.isForced = true
                _ = try takeEvents()
                geometry.failedReads = pending.isResized ? 0 : geometry.failedReads + 1
                if geometry.failedReads == 3 { throw .refused(name) }
                return instant
            }
        }
        return MonotonicClock.now
    }

    private func readOnce(
        _ connection: X11Connection, _ canvas: I420Buffer, _ changed: inout BlockMap, at instant: MediaInstant,
        isLast: Bool
    ) throws(SourceFailure) -> ReadResult {
        if features.hasDamage && pending.isDamaged && damage.id != 0 {
            // Anything drawn from here on is reported again. Anything drawn before is in the pixels requested next.
            xcb_damage_subtract(connection.raw, damage.id, 0, 0)
            if damage.checkDue != nil { damage.checkDue = instant + Self.damageCheckInterval }
        }
        if pending.isForced { pending.fill() }
        let pointer = features.hasCursor ? xcb_query_pointer_unchecked(connection.raw, connection.root) : nil
        let image = features.hasCursor && pending.isCursorImageStale ? xcb_xfixes_get_cursor_image(connection.raw) : nil
        pending.beginReading()

        let before = features.hasDamage ? 0 : changed.count
        let conceals = target.isOfScreen
        let isForced = pending.isForced
        var isMoved = false
        let isComplete = try reader.read(pending.rectangles.rects, of: area) { rect, pixels, stride in
            if conceals {
                // What happened before the server copied these pixels has arrived before them.
                takeQueuedEvents(connection)
                isMoved = isMoved || desktop.isStale && !isLast
                if isMoved { return }
                blacken(pixels, stride, rect)
            }
            shadow.copyDifferences(
                pixels, stride: stride, rect: rect, isForced: isForced, canvas: canvas, converter: converter,
                changed: &changed)
        }
        takeCursor(connection, pointer, image, at: instant)
        guard isComplete, !isMoved else {
            pending.restore()
            return isComplete ? .moved : .refused
        }
        if isForced { cursor.layer.forget() }
        pending.isForced = false
        cursor.layer.draw(on: canvas, over: shadow, converter: converter, changed: &changed)
        if !features.hasDamage { scans.recordScan(at: instant, foundChange: changed.count != before) }
        return .complete
    }

    /// Makes the concealed parts of a rectangle of the frame black.
    private func blacken(_ pixels: UnsafeMutableRawPointer, _ stride: Int, _ rect: PixelRect) {
        guard !desktop.concealed.isEmpty else { return }
        for concealed in desktop.concealed.areas {
            let part = concealed.offset(x: -area.rootX, y: -area.rootY).intersection(rect)
            guard !part.isEmpty else { continue }
            for row in part.y..<part.maxY {
                memset(pixels + (row - rect.y) * stride + (part.x - rect.x) * 4, 0, part.width * 4)
            }
        }
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
        geometry.isStale = true
        geometry.due = MediaInstant(nanoseconds: 0)
        desktop.isStale = true
        target.window?.isPixmapStale = true
        target.window?.isParentStale = true
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
