internal import CXCB
internal import Glibc
internal import MediaCore

/// A child of the root window with the clients that it contains: a window manager puts each client into a frame.
struct TopLevelWindow {
    var facts: WindowFacts
    /// The windows of programs: the top level itself if no window manager has put it into a frame.
    var clients: [WindowFacts]

    /// With its border, in pixels of the root window.
    var rect: PixelRect { facts.rect }

    /// Whether it hides what is below; false if that is not certain.
    /// - Parameter isComposited: windows with an alpha channel may be transparent then.
    func isOpaque(isComposited: Bool) -> Bool {
        facts.isViewable && !facts.isInputOnly && !facts.isTranslucent && !facts.isShaped
            && !clients.contains { $0.isTranslucent }
            && (!isComposited || facts.depth != 32)
    }
}

/// The windows of a display at one time.
struct WindowTree {
    /// From the lowest to the topmost.
    var topLevels: [TopLevelWindow] = []
    /// Whether a compositing manager draws the screen, so that pixels follow later than events.
    var isComposited = false

    /// How many levels of frames are looked into.
    private static let deepestFrame = 3

    /// Takes a few round trips.
    init(_ connection: X11Connection, _ atoms: X11Atoms) {
        let raw = connection.raw
        let owner = xcb_get_selection_owner(raw, atoms.compositor)
        guard let tree = xcb_query_tree_reply(raw, xcb_query_tree(raw, connection.root), nil) else { return }
        let children = Array(
            UnsafeBufferPointer(
                start: xcb_query_tree_children(tree), count: Int(xcb_query_tree_children_length(tree))))
        free(tree)
        if let reply = xcb_get_selection_owner_reply(raw, owner, nil) {
            isComposited = reply.pointee.owner != 0
            free(reply)
        }
        let facts = Self.facts(children, connection, atoms).compactMap { $0 }.filter { !$0.isInputOnly }
        topLevels = facts.map { TopLevelWindow(facts: $0, clients: $0.hasState || $0.isNamed ? [$0] : []) }
        var frames = topLevels.indices.filter { topLevels[$0].clients.isEmpty }
            .flatMap { index in topLevels[index].facts.children.map { (index, $0) } }
        for _ in 0..<Self.deepestFrame where !frames.isEmpty {
            var next: [(Int, xcb_window_t)] = []
            for ((index, _), facts) in zip(frames, Self.facts(frames.map(\.1), connection, atoms)) {
                guard let facts, !facts.isInputOnly else { continue }
                if facts.hasState || facts.isNamed && topLevels[index].clients.isEmpty {
                    topLevels[index].clients.append(facts)
                } else {
                    next += facts.children.map { (index, $0) }
                }
            }
            frames = next.filter { topLevels[$0.0].clients.isEmpty }
        }
    }

    /// One round trip.
    private static func facts(_ ids: [xcb_window_t], _ connection: X11Connection, _ atoms: X11Atoms) -> [WindowFacts?] {
        let queries = ids.map { WindowQuery($0, connection, atoms) }
        return queries.map { $0.take(connection, atoms) }
    }

    /// The windows of programs, from the topmost down: those that a window manager manages, or, without one, those that
    /// have a name.
    var clients: [WindowFacts] {
        let all = topLevels.reversed().flatMap(\.clients)
        let managed = all.filter(\.hasState)
        return (managed.isEmpty ? all.filter(\.isNamed) : managed)
            .filter { !$0.isDesktopOrPanel && !$0.isNotification && $0.size.width > 0 && $0.size.height > 0 }
    }
}
