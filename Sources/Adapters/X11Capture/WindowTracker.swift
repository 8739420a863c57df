internal import CXCB
internal import Glibc
internal import MediaCore

/// One window that is captured: its pixmap (XComposite), which has nothing of the windows above, and what becomes of
/// it.
///
/// A minimised window has no new pixels; its last ones remain. A window that was closed is followed by the next one of
/// the same application and title.
final class WindowTracker {
    private enum State { case shown, unmapped, closed }

    private let wanted: CaptureSource.Window
    private let report: @Sendable (String) -> Void
    private var state = State.closed
    /// 0 while it is closed.
    private(set) var id: xcb_window_t = 0
    private var names = WindowNames()
    private var pixmap: xcb_pixmap_t = 0
    /// The window's size and border when its pixmap was named.
    private var named = (PixelSize(width: 0, height: 0), 0)
    private(set) var area: CaptureArea
    /// The child of the root window that contains it.
    private(set) var topLevel: xcb_window_t = 0
    /// The pixmap may have been replaced, as it is when a window is mapped; also when it gets another size.
    var isPixmapStale = true
    /// The window may have another frame.
    var isParentStale = true

    init(
        _ wanted: CaptureSource.Window, _ connection: X11Connection, _ desktop: DesktopObserver,
        report: @escaping @Sendable (String) -> Void
    ) throws(SourceFailure) {
        self.wanted = wanted
        self.report = report
        area = CaptureArea(PixelSize(width: 2, height: 2), of: 0, border: 0).black
        guard connection.composite != nil else {
            throw SourceFailure(
                .unsupported, "display \(connection.name) keeps no pictures of windows (no COMPOSITE extension)",
                remedy: "Share a monitor or a region: see share sources.")
        }
        adopt(try Self.find(wanted, connection, desktop.atoms), connection)
        try refresh(connection, desktop)
        if state == .unmapped { report("\(quoted) is minimised or hidden: viewers see it when it is shown") }
    }

    var description: String { quoted }

    private var quoted: String {
        let title = UntrustedText.clean(names.title, limit: 80, fallback: "")
        let application = UntrustedText.clean(names.application, limit: 40, fallback: "")
        if title.isEmpty { return application.isEmpty ? CaptureSource.window(.id(id)).text : application }
        return UntrustedText.quote(title) + (application.isEmpty || application == title ? "" : " (\(application))")
    }

    /// Chooses the window at the start.
    private static func find(
        _ wanted: CaptureSource.Window, _ connection: X11Connection, _ atoms: X11Atoms
    ) throws(SourceFailure) -> WindowFacts {
        switch wanted {
        case .id(let id):
            guard id != connection.root, let facts = WindowQuery(id, connection, atoms).take(connection, atoms) else {
                throw SourceFailure(
                    .noSuchDevice, "there is no \(CaptureSource.window(.id(id)).text)",
                    remedy: "share sources lists the windows.")
            }
            guard !facts.isInputOnly, facts.depth == 24 || facts.depth == 32 else {
                throw SourceFailure(
                    .unsupported, "\(CaptureSource.window(.id(id)).text) has no picture that can be read",
                    remedy: "share sources lists the windows.")
            }
            return facts
        case .title(let text):
            let found = Self.named(text, in: WindowTree(connection, atoms).clients)
            if found.count == 1 { return found[0] }
            guard !found.isEmpty else {
                throw SourceFailure(
                    .noSuchDevice, "no window has '\(text)' in its title or class",
                    remedy: "share sources lists the windows.")
            }
            let list = found.prefix(5).map {
                "\(CaptureSource.window(.id($0.id)).text) \(UntrustedText.quote(UntrustedText.clean($0.names.title, fallback: $0.names.application)))"
            }
            throw SourceFailure(
                .noSuchDevice, "\(found.count) windows have '\(text)' in their titles or classes",
                remedy: "Choose one: \(list.joined(separator: ", ")).")
        }
    }

    /// The windows that a text names: those with just this title, or else those that have it in title or class.
    private static func named(_ text: String, in windows: [WindowFacts]) -> [WindowFacts] {
        let exact = windows.filter { $0.names.title == text }
        if !exact.isEmpty { return exact }
        let text = text.lowercased()
        let isPart = { (name: String) in name.lowercased().contains(text) }
        return windows.filter { isPart($0.names.title) || isPart($0.names.application) || isPart($0.names.instance) }
    }

    /// Whether a window that was opened after the close of the captured one takes its place.
    private func isSame(_ facts: WindowFacts) -> Bool {
        guard facts.depth == 24 || facts.depth == 32 else { return false }
        if case .title(let text) = wanted, !Self.named(text, in: [facts]).isEmpty { return true }
        return facts.isNamed && facts.names == names
    }

    /// Captures this window from now on.
    private func adopt(_ facts: WindowFacts, _ connection: X11Connection) {
        id = facts.id
        names = facts.names
        isPixmapStale = true
        isParentStale = true
        listen(connection, true)
        xcb_composite_redirect_window(connection.raw, id, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue))
    }

    /// Selects the events of the window, or none.
    func listen(_ connection: X11Connection, _ isOn: Bool) {
        guard id != 0 else { return }
        let events = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue
        var mask = isOn ? UInt32(events) : 0
        xcb_change_window_attributes(connection.raw, id, UInt32(XCB_CW_EVENT_MASK.rawValue), &mask)
    }

    /// A window has this size and border, if only for a moment: afterwards it has another pixmap.
    func noteSize(_ size: PixelSize, border: Int, of window: xcb_window_t) {
        if window == id, (size, border) != named { isPixmapStale = true }
    }

    /// Finds out where the window is, and names its pixmap.
    func refresh(_ connection: X11Connection, _ desktop: DesktopObserver) throws(SourceFailure) {
        let atoms = desktop.atoms
        if id == 0 {
            desktop.isStale = false
            guard let facts = desktop.scan(connection).clients.first(where: isSame) else { return }
            adopt(facts, connection)
            report("\(quoted) is open again")
        }
        let query = WindowQuery(id, connection, atoms)
        let place = xcb_translate_coordinates(connection.raw, id, connection.root, 0, 0)
        let facts = query.take(connection, atoms)
        let reply = xcb_translate_coordinates_reply(connection.raw, place, nil)
        defer { free(reply) }
        guard let facts else {
            try connection.checkAlive()
            close(connection)
            // Another one may have been opened already.
            return try refresh(connection, desktop)
        }
        names.title = facts.names.title
        if isParentStale { findTopLevel(connection) }
        if facts.isViewable {
            if isPixmapStale || pixmap == 0 || (facts.size, facts.border) != named { namePixmap(connection) }
            if state != .shown { state = .shown }
        } else if state == .shown {
            state = .unmapped
            report("\(quoted) is minimised or hidden: its last picture stays until it is shown again")
        } else {
            state = .unmapped
            if pixmap == 0 { area = CaptureArea(facts.size, of: 0, border: 0).black }
        }
        if let reply {
            area.rootX = Int(reply.pointee.dst_x)
            area.rootY = Int(reply.pointee.dst_y)
        }
    }

    /// Names the pixmap, and reads its size and the window's. A window manager that frames the window changes its
    /// border meanwhile; then it is named again.
    private func namePixmap(_ connection: X11Connection) {
        let raw = connection.raw
        for attempt in 1...Self.namings {
            let new = xcb_generate_id(raw)
            let naming = xcb_composite_name_window_pixmap_checked(raw, id, new)
            let (ofPixmap, ofWindow) = (xcb_get_geometry(raw, new), xcb_get_geometry(raw, id))
            let replies = [ofPixmap, ofWindow].map { xcb_get_geometry_reply(raw, $0, nil) }
            defer { for reply in replies { free(reply) } }
            if let error = xcb_request_check(raw, naming) {
                // It was unmapped or closed meanwhile; the event for that follows.
                free(error)
                return
            }
            freePixmap(connection)
            pixmap = new
            guard let drawn = replies[0]?.pointee, let window = replies[1]?.pointee else { return }
            let border = Int(window.border_width)
            let size = PixelSize(width: Int(window.width), height: Int(window.height))
            isPixmapStale =
                Int(drawn.width) != size.width + 2 * border || Int(drawn.height) != size.height + 2 * border
            // The last attempt's is shown until the next event.
            guard !isPixmapStale || attempt == Self.namings else { continue }
            let whole = PixelSize(
                width: min(size.width, Int(drawn.width) - border), height: min(size.height, Int(drawn.height) - border))
            area = CaptureArea(whole, of: pixmap, border: border)
            named = (size, border)
            return
        }
    }

    private static let namings = 4

    private func freePixmap(_ connection: X11Connection) {
        if pixmap != 0 { xcb_free_pixmap(connection.raw, pixmap) }
        pixmap = 0
    }

    private func close(_ connection: X11Connection) {
        freePixmap(connection)
        area = area.black
        id = 0
        topLevel = 0
        if state != .closed {
            report("\(quoted) was closed: viewers see black until it is opened again")
        }
        state = .closed
    }

    private func findTopLevel(_ connection: X11Connection) {
        isParentStale = false
        topLevel = id
        while let reply = xcb_query_tree_reply(connection.raw, xcb_query_tree(connection.raw, topLevel), nil) {
            defer { free(reply) }
            guard reply.pointee.parent != connection.root, reply.pointee.parent != 0 else { return }
            topLevel = reply.pointee.parent
        }
    }
}
