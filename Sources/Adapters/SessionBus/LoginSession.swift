import Synchronization

/// The user's graphical session at logind (org.freedesktop.login1), or the session of this process.
final class LoginSession: Sendable {
    private enum Query {
        case user
        case display
        case session
        case lockedHint
        case active
    }

    private struct Shared {
        /// The connection of logind. Signals of others are ignored, as every user can send them.
        var login: String?
        var query: (kind: Query, serial: UInt32)?
        var session: String?
        /// A session without a display is not in front of anything.
        var isGraphical = false
        var isLocked = false
        /// Another session is in front of the user's graphical one.
        var isBehind = false
    }

    private static let login = "org.freedesktop.login1"
    private static let manager = "/org/freedesktop/login1"
    private let bus: BusConnection
    private let user: UInt32
    private let lock: LockState
    // It is held while a query is sent, so that its reply is handled after its number is known.
    private let shared = Mutex(Shared())

    init(_ bus: BusConnection, _ user: UInt32, _ lock: LockState) {
        self.bus = bus
        self.user = user
        self.lock = lock
    }

    func begin() {
        bus.match(
            "type='signal',sender='\(BusConnection.bus)',interface='\(BusConnection.bus)',member='NameOwnerChanged',"
                + "arg0='\(Self.login)'")
        shared.withLock { ask(.user, about: Self.manager, &$0) }
    }

    func take(_ message: BusMessage) {
        let isAway: Bool? = shared.withLock { shared in
            if let owner = message.newOwner(of: Self.login) {
                shared = Shared()
                if !owner.isEmpty { ask(.user, about: Self.manager, &shared) }
                return nil
            }
            switch message.kind {
            case .reply, .error:
                guard let query = shared.query, query.serial == message.replySerial else { return nil }
                shared.query = nil
                return answered(query.kind, message, &shared)
            case .signal:
                guard message.sender == shared.login, message.path == shared.session else { return nil }
                return signalled(message, &shared)
            case .call: return nil
            }
        }
        if let isAway { lock.set(isAway) }
    }

    private func ask(_ query: Query, about path: String, _ shared: inout Shared) {
        let (name, properties) = (Self.login, BusConnection.properties)
        let serial =
            switch query {
            case .user: bus.call(name, path, name + ".Manager", "GetUser", [.uint32(user)])
            case .display: bus.call(name, path, properties, "Get", [.text(name + ".User"), .text("Display")])
            case .session: bus.call(name, path, name + ".Manager", "GetSession", [.text("auto")])
            case .lockedHint: bus.call(name, path, properties, "Get", [.text(name + ".Session"), .text("LockedHint")])
            case .active: bus.call(name, path, properties, "Get", [.text(name + ".Session"), .text("Active")])
            }
        shared.query = (query, serial)
    }

    /// Goes from the user to its graphical session, and to what that says; to the session of this process if the user
    /// has no graphical one.
    private func answered(_ query: Query, _ message: BusMessage, _ shared: inout Shared) -> Bool? {
        let value = message.kind == .reply ? message.arguments.first : nil
        if value != nil { shared.login = message.sender }
        switch query {
        case .user:
            if let user = value?.text {
                ask(.display, about: user, &shared)
            } else {
                ask(.session, about: Self.manager, &shared)
            }
        case .display:
            if let session = value?.list?.last?.text, session != "/" {
                shared.isGraphical = true
                observe(session, &shared)
            } else {
                ask(.session, about: Self.manager, &shared)
            }
        case .session:
            if let session = value?.text { observe(session, &shared) }
        case .lockedHint:
            shared.isLocked = shared.isLocked || value?.isTrue == true
            if shared.isGraphical, let session = shared.session { ask(.active, about: session, &shared) }
            return shared.isLocked ? true : nil
        case .active:
            shared.isBehind = shared.isBehind || value?.isTrue == false
            return shared.isBehind ? true : nil
        }
        return nil
    }

    private func observe(_ session: String, _ shared: inout Shared) {
        shared.session = session
        bus.match("type='signal',sender='\(Self.login)',path='\(session)'")
        ask(.lockedHint, about: session, &shared)
    }

    /// - Returns: whether the session is locked or behind another one; nil if the signal does not tell.
    private func signalled(_ message: BusMessage, _ shared: inout Shared) -> Bool? {
        switch (message.interface, message.member) {
        case (Self.login + ".Session", "Lock"): shared.isLocked = true
        case (Self.login + ".Session", "Unlock"): shared.isLocked = false
        case (BusConnection.properties, "PropertiesChanged"):
            guard message.arguments.count > 1 else { return nil }
            let (isLocked, isActive) = (
                message.arguments[1]["LockedHint"]?.isTrue, message.arguments[1]["Active"]?.isTrue
            )
            guard isLocked != nil || isActive != nil else { return nil }
            if let isLocked { shared.isLocked = isLocked }
            if let isActive, shared.isGraphical { shared.isBehind = !isActive }
        default: return nil
        }
        return shared.isLocked || shared.isBehind
    }
}
