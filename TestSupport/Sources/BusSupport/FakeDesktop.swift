import LinuxRuntime
package import SessionBus

/// logind with one user and one graphical session (org.freedesktop.login1), on a ``TestBus``.
package final class FakeLogin: Sendable {
    package static let session = "/org/freedesktop/login1/session/_32"
    private let service: BusService

    /// - Parameters:
    ///   - hasDisplay: whether the user has a graphical session; otherwise the session is that of the asking process.
    ///   - isLocked: the session's `LockedHint`.
    package init(_ bus: TestBus, hasDisplay: Bool = true, isLocked: Bool = false) throws {
        service = try bus.service("org.freedesktop.login1") { call in
            switch call.member {
            case "GetUser": [.path("/org/freedesktop/login1/user/_1000")]
            case "GetSession" where !hasDisplay && call.arguments.first?.text == "auto": [.path(Self.session)]
            case "Get" where call.arguments.last?.text == "Display":
                [.variant(.tuple([.text(hasDisplay ? "2" : ""), .path(hasDisplay ? Self.session : "/")]))]
            case "Get" where call.arguments.last?.text == "Active": [.variant(.boolean(true))]
            case "Get" where call.path == Self.session: [.variant(.boolean(isLocked))]
            default: nil
            }
        }
    }

    /// Waits until somebody has asked whether the session is locked, and so hears its signals.
    package func isObserved() -> Bool {
        service.message { $0.kind == .call && $0.path == Self.session && $0.arguments.last?.text == "LockedHint" }
            != nil
    }

    package func setLockedHint(_ isLocked: Bool) {
        Self.setLockedHint(isLocked, from: service)
    }

    /// Whether the session is the one in front.
    package func setActive(_ isActive: Bool) { Self.set("Active", isActive, from: service) }

    package static func setLockedHint(_ isLocked: Bool, from service: BusService) {
        set("LockedHint", isLocked, from: service)
    }

    private static func set(_ property: String, _ value: Bool, from service: BusService) {
        service.connection.signal(
            session, "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [
                .text("org.freedesktop.login1.Session"), .dictionary([property: .boolean(value)]),
                .array(of: "s", []),
            ])
    }

    /// Sends "Lock" or "Unlock".
    package func send(_ signal: String) {
        service.connection.signal(Self.session, "org.freedesktop.login1.Session", signal)
    }
}

/// A screen saver (org.freedesktop.ScreenSaver) on a ``TestBus``.
package final class FakeScreenSaver: Sendable {
    private static let name = "org.freedesktop.ScreenSaver"
    private let service: BusService

    package init(_ bus: TestBus, isActive: Bool = false) throws {
        service = try bus.service(Self.name) { $0.member == "GetActive" ? [.boolean(isActive)] : nil }
    }

    /// Waits until somebody has asked, and so hears the signals.
    package func isObserved() -> Bool { service.call(of: "GetActive") != nil }

    package func setActive(_ isActive: Bool) {
        service.connection.signal("/ScreenSaver", Self.name, "ActiveChanged", [.boolean(isActive)])
    }
}

/// A tray (org.kde.StatusNotifierWatcher) on a ``TestBus``, which shows items unless it has no host.
package final class FakeTray: Sendable {
    private static let name = "org.kde.StatusNotifierWatcher"
    private let service: BusService
    private let hasHost: Monitor<Bool>

    package init(_ bus: TestBus, hasHost: Bool = true) throws {
        let host = Monitor(hasHost)
        self.hasHost = host
        service = try bus.service(Self.name) { call in
            switch call.member {
            case "RegisterStatusNotifierItem": []
            case "Get": [.variant(.boolean(host.with { $0 }))]
            default: nil
            }
        }
    }

    /// Waits for an item, and returns the name of its connection.
    package func item() -> String? { service.call(of: "RegisterStatusNotifierItem")?.arguments.first?.text }

    /// A host comes that shows the items.
    package func addHost() {
        hasHost.with { $0 = true }
        service.connection.signal("/StatusNotifierWatcher", Self.name, "StatusNotifierHostRegistered")
    }

    /// The properties of the item.
    package func properties(of item: String) -> BusValue? {
        service.ask(
            item, "/StatusNotifierItem", "org.freedesktop.DBus.Properties", "GetAll",
            [.text("org.kde.StatusNotifierItem")])?.arguments.first
    }

    /// An item of a menu.
    package struct MenuItem: Sendable {
        package let id: Int
        package let label: String
        package let isEnabled: Bool
        /// Nil: it can have no check mark.
        package let isChecked: Bool?
        package let children: [MenuItem]

        fileprivate init?(_ node: BusValue) {
            guard let parts = node.list, parts.count == 3, let id = parts[0].number else { return nil }
            self.id = id
            label = parts[1]["label"]?.text ?? ""
            isEnabled = parts[1]["enabled"]?.isTrue ?? true
            isChecked = parts[1]["toggle-type"]?.text == "checkmark" ? parts[1]["toggle-state"]?.number == 1 : nil
            children = (parts[2].list ?? []).compactMap { MenuItem($0) }
        }
    }

    /// The menu of the item.
    package func menu(of item: String) -> [MenuItem] {
        let layout = menuCall(item, "GetLayout", [.int32(0), .int32(-1), .array(of: "s", [])])
        return (layout?.arguments.last?.list?.last?.list ?? []).compactMap { MenuItem($0) }
    }

    /// The item of the menu with these labels of itself and of the submenus above it, the outermost first.
    package func menuItem(_ labels: [String], of item: String) -> MenuItem? {
        var found: MenuItem?
        var items = menu(of: item)
        for label in labels {
            found = items.first { $0.label == label }
            items = found?.children ?? []
        }
        return found
    }

    /// Chooses an item of the menu by its label, and those of the submenus above it.
    /// - Returns: false if there is no such.
    @discardableResult
    package func choose(_ labels: String..., of item: String) -> Bool {
        guard let id = menuItem(labels, of: item)?.id else { return false }
        return choose(id, of: item)
    }

    /// Chooses an item of the menu by its number, shown or not.
    @discardableResult
    package func choose(_ id: Int, of item: String) -> Bool {
        let event: [BusValue] = [.int32(Int32(clamping: id)), .text("clicked"), .variant(.int32(0)), .uint32(0)]
        return menuCall(item, "Event", event)?.kind == .reply
    }

    /// Calls a method of the item's menu.
    package func menuCall(_ item: String, _ member: String, _ arguments: [BusValue]) -> BusMessage? {
        service.ask(item, "/StatusNotifierItem/Menu", "com.canonical.dbusmenu", member, arguments)
    }

    /// Waits for a signal of the item, past or future.
    package func signal(_ member: String) -> BusMessage? {
        service.message { $0.kind == .signal && $0.member == member }
    }

    /// Waits for a signal of the item with these arguments, past or future.
    package func hears(_ member: String, _ arguments: [BusValue]) -> Bool {
        service.message { $0.kind == .signal && $0.member == member && $0.arguments == arguments } != nil
    }

    /// Asks for the signals of everybody.
    package func hearAll() {
        service.connection.match("type='signal'")
        service.settle()
    }
}
