import Host
import MediaCore
import SessionBus

/// What the user chooses in the tray for a viewer. Each action has an item number of its own: a click at a menu that is
/// not shown any more never does the opposite, and never concerns another viewer.
struct ViewerChoice: Equatable {
    enum Action: Equatable {
        /// The viewer's submenu itself.
        case none
        case grant(ViewerRight)
        case revoke(ViewerRight)
        case remove

        fileprivate static let all: [Action] =
            [.none, .remove] + ViewerRight.allCases.flatMap { [.grant($0), .revoke($0)] }
    }

    /// Of the viewer's session.
    var number: Int
    var action: Action

    /// Item numbers below are those of `BroadcastIndicator.Choice`.
    private static let first = 1_000
    /// An item number has 31 bits.
    static let numberLimit = (Int(Int32.max) - first) / Action.all.count

    init(_ number: Int, _ action: Action) { (self.number, self.action) = (number, action) }

    /// - Returns: nil for another item.
    init?(item: Int) {
        guard item >= Self.first else { return nil }
        let (number, action) = (item - Self.first).quotientAndRemainder(dividingBy: Action.all.count)
        self.init(number, Action.all[action])
    }

    /// The number of the item in the menu.
    var item: Int { Self.first + number * Action.all.count + (Action.all.firstIndex(of: action) ?? 0) }
}

/// The viewers as the tray's menu shows them: a submenu for each of the newest.
struct TrayAudience {
    private struct Viewer {
        var number: Int
        var title: String
        /// Nil: it can have none.
        var rights: ViewerRights?
    }

    /// Viewers in the menu.
    static let limit = 12

    private var viewers: [Viewer] = []
    private var possibleRights: Set<ViewerRight> = []
    /// The quoted name of the viewer that controls the screen.
    private(set) var controller: String?
    /// Where a viewer points, which nothing else shows.
    var pointing: String?
    /// What the user is asked.
    var questions: [TrayQuestions.Question] = []

    init() {}

    /// - Parameter sessions: in the order in which they came. Of several of one viewer the newest is shown.
    init(_ sessions: [ViewerSessionInfo], possibleRights: Set<ViewerRight>) {
        self.possibleRights = possibleRights
        controller = sessions.controller.map { Self.quoted($0.description.name) }
        var shown: [ViewerSessionInfo] = []
        for session in sessions.reversed() where session.number < ViewerChoice.numberLimit {
            if !shown.contains(where: { $0.isSameViewer(as: session) }) { shown.append(session) }
        }
        viewers = shown.map {
            Viewer(number: $0.number, title: Self.title($0.description), rights: $0.rights)
        }
    }

    private static func quoted(_ name: String) -> String {
        UntrustedText.quote(UntrustedText.clean(name, fallback: "a viewer"))
    }

    /// `"Ann" (browser)`.
    static func title(_ viewer: ViewerDescription) -> String {
        "\(quoted(viewer.name)) (\(UntrustedText.clean(viewer.kind, limit: 20, fallback: "unknown")))"
    }

    /// The submenus, the newest viewer first.
    var items: [StatusNotifierItem.Content.MenuItem] {
        var items = viewers.prefix(Self.limit).map { viewer in
            StatusNotifierItem.Content.MenuItem(
                id: ViewerChoice(viewer.number, .none).item, label: viewer.title, children: actions(viewer))
        }
        let further = viewers.count - items.count
        if further > 0 {
            items.append(
                .init(
                    id: BroadcastIndicator.Choice.furtherViewers.rawValue,
                    label: "\u{2026}and \(further) more: share viewers", isEnabled: false))
        }
        return items
    }

    private func actions(_ viewer: Viewer) -> [StatusNotifierItem.Content.MenuItem] {
        var items: [StatusNotifierItem.Content.MenuItem] = []
        for right in ViewerRight.allCases {
            guard let state = viewer.rights?[right] else { continue }
            let isGranted = state == .yes
            guard isGranted || possibleRights.contains(right) else { continue }
            let action: ViewerChoice.Action = isGranted ? .revoke(right) : .grant(right)
            // A viewer that controls may reach the menu, and is not to grant anything there.
            items.append(
                .init(
                    id: ViewerChoice(viewer.number, action).item, label: right.label,
                    isEnabled: isGranted || controller == nil, isChecked: isGranted))
        }
        items.append(.init(id: ViewerChoice(viewer.number, .remove).item, label: "Remove"))
        return items
    }
}

extension ViewerRight {
    fileprivate var label: String {
        switch self {
        case .comment: "Comment"
        case .point: "Point"
        case .control: "Control"
        }
    }
}

extension [ViewerSessionInfo] {
    /// The viewer that controls the screen.
    var controller: ViewerSessionInfo? { first { $0.rights?.control == .yes } }
}
