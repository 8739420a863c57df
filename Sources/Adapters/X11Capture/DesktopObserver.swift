internal import CXCB
internal import Glibc
internal import MediaCore

/// Observes the windows of a display: which of them are black in what is captured, and whether a closed window is back.
final class DesktopObserver {
    let atoms: X11Atoms
    private let rule: ConcealmentRule
    private(set) var concealed = ConcealedAreas()
    /// Windows have changed since they were last looked at.
    var isStale = true
    /// Whether there was a window to conceal when they were last looked at. Otherwise one that moves changes nothing.
    private(set) var hasConcealed = true
    /// The windows whose properties are observed.
    private var observed: Set<xcb_window_t> = []

    init(_ connection: X11Connection, hiddenWindows: [WindowPattern]) {
        atoms = X11Atoms(connection)
        rule = ConcealmentRule(patterns: hiddenWindows)
    }

    /// Selects the events of the root window, or none.
    func listen(_ connection: X11Connection, _ isOn: Bool) {
        let events = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue
        select(isOn ? UInt32(events) : 0, of: connection.root, connection)
        guard !isOn else { return }
        for id in observed { select(0, of: id, connection) }
        observed = []
    }

    private func select(_ mask: UInt32, of id: xcb_window_t, _ connection: X11Connection) {
        var mask = mask
        xcb_change_window_attributes(connection.raw, id, UInt32(XCB_CW_EVENT_MASK.rawValue), &mask)
    }

    /// Whether a change of this property can change which windows are concealed or found again.
    func concerns(_ property: xcb_atom_t) -> Bool {
        [
            atoms.windowName, xcb_atom_t(XCB_ATOM_WM_NAME.rawValue), xcb_atom_t(XCB_ATOM_WM_CLASS.rawValue),
            atoms.windowType, atoms.excluded, atoms.windowState, atoms.opacity,
        ].contains(property)
    }

    /// Reads all windows, and observes their properties. Takes a few round trips.
    /// - Parameter captured: a window whose events are selected elsewhere.
    func scan(_ connection: X11Connection, except captured: xcb_window_t = 0) -> WindowTree {
        var tree = WindowTree(connection, atoms)
        // Two rounds, so that a program which opens windows all the time cannot keep this busy.
        for _ in 0..<2 {
            let all = tree.topLevels.flatMap { [$0.facts.id] + $0.clients.map(\.id) }
            let new = all.filter { $0 != captured && !observed.contains($0) }
            // What has gone needs no mask, and its number may be that of another window later.
            observed = Set(all)
            if new.isEmpty { break }
            for id in new { select(UInt32(XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue), of: id, connection) }
            // A property that was set in between is read by the next round.
            tree = WindowTree(connection, atoms)
        }
        return tree
    }

    /// Finds out what is concealed now.
    /// - Returns: the areas of the root window that have to be read again.
    func updateConcealed(_ connection: X11Connection, at now: MediaInstant) -> [PixelRect] {
        isStale = false
        let tree = scan(connection)
        // Also one that others cover now.
        hasConcealed = tree.topLevels.contains { rule.conceals($0) }
        return concealed.update(rule.areas(of: tree), isComposited: tree.isComposited, at: now)
    }

    func expireConcealed(at now: MediaInstant) -> [PixelRect] { concealed.expire(at: now) }
}
