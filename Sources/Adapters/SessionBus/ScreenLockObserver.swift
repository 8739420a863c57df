import Synchronization

/// Observes whether the user's session is locked: by logind on the system bus, and by screen savers on the session bus.
///
/// logind: `LockedHint`, and the signals `Lock` and `Unlock`, of the user's graphical session (org.freedesktop.login1).
/// Screen savers: `ActiveChanged` of org.freedesktop.ScreenSaver and of those that desktops have of their own. Not every
/// desktop has both, so the last one to speak is believed.
public final class ScreenLockObserver: Sendable {
    private let buses: [BusConnection]

    /// Connects; blocks until the buses have answered. A bus that is nil, or does not answer, is left out.
    /// - Parameters:
    ///   - sessionBus: an address, as in DBUS_SESSION_BUS_ADDRESS.
    ///   - systemBus: an address, as in DBUS_SYSTEM_BUS_ADDRESS.
    ///   - user: the numeric identifier of the user.
    ///   - onChange: called on GIO's threads when the session is locked and unlocked; at first only if it is locked. Must
    ///     not block.
    public init(sessionBus: String?, systemBus: String?, user: UInt32, onChange: @escaping @Sendable (Bool) -> Void) {
        let state = LockState(onChange)
        var buses: [BusConnection] = []
        if let bus = sessionBus.flatMap({ BusConnection(address: $0) }) {
            let savers = ScreenSavers(bus, state)
            bus.listen { message in
                savers.take(message)
                return false
            }
            savers.begin()
            buses.append(bus)
        }
        if let bus = systemBus.flatMap({ BusConnection(address: $0) }) {
            let session = LoginSession(bus, user, state)
            bus.listen { message in
                session.take(message)
                return false
            }
            session.begin()
            buses.append(bus)
        }
        self.buses = buses
    }

    deinit { close() }

    /// Disconnects; nothing is told any more. May be called more than once.
    public func close() {
        for bus in buses { bus.close() }
    }
}

/// Tells of each change once, whoever it comes from.
private final class LockState: Sendable {
    private let isLocked = Mutex(false)
    private let onChange: @Sendable (Bool) -> Void

    init(_ onChange: @escaping @Sendable (Bool) -> Void) { self.onChange = onChange }

    func set(_ value: Bool) {
        // Under the lock, so that the changes of two buses are told in their order.
        isLocked.withLock { isLocked in
            guard value != isLocked else { return }
            isLocked = value
            onChange(value)
        }
    }
}

/// The screen savers of a session bus.
private final class ScreenSavers: Sendable {
    private static let names = [
        "org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver", "org.cinnamon.ScreenSaver", "org.mate.ScreenSaver",
        "org.xfce.ScreenSaver",
    ]
    private let bus: BusConnection
    private let lock: LockState
    private let queries = Mutex<Set<UInt32>>([])

    init(_ bus: BusConnection, _ lock: LockState) {
        self.bus = bus
        self.lock = lock
    }

    func begin() {
        for name in Self.names { bus.match("type='signal',interface='\(name)',member='ActiveChanged'") }
        queries.withLock { queries in
            for name in Self.names {
                let path = "/" + name.split(separator: ".").joined(separator: "/")
                queries.insert(bus.call(name, path, name, "GetActive"))
            }
        }
    }

    func take(_ message: BusMessage) {
        guard let isActive = message.arguments.first?.isTrue else { return }
        switch message.kind {
        case .signal where Self.names.contains(message.interface) && message.member == "ActiveChanged":
            lock.set(isActive)
        // One that is not active says nothing of the others.
        case .reply where isActive && queries.withLock({ $0.remove(message.replySerial) != nil }): lock.set(true)
        default: break
        }
    }
}

/// The user's graphical session at logind (org.freedesktop.login1), or the session of this process.
private final class LoginSession: Sendable {
    private enum Query {
        case user
        case display
        case session
        case lockedHint
    }

    private struct Shared {
        /// The connection of logind. Signals of others are ignored, as every user can send them.
        var login: String?
        var query: (kind: Query, serial: UInt32)?
        var session: String?
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
        let isLocked: Bool? = shared.withLock { shared in
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
                return lockSignal(message)
            case .call: return nil
            }
        }
        if let isLocked { lock.set(isLocked) }
    }

    private func ask(_ query: Query, about path: String, _ shared: inout Shared) {
        let (name, properties) = (Self.login, BusConnection.properties)
        let serial =
            switch query {
            case .user: bus.call(name, path, name + ".Manager", "GetUser", [.uint32(user)])
            case .display: bus.call(name, path, properties, "Get", [.text(name + ".User"), .text("Display")])
            case .session: bus.call(name, path, name + ".Manager", "GetSession", [.text("auto")])
            case .lockedHint: bus.call(name, path, properties, "Get", [.text(name + ".Session"), .text("LockedHint")])
            }
        shared.query = (query, serial)
    }

    /// Goes from the user to its graphical session, and to what that says; to the session of this process if the user has
    /// no graphical one.
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
                observe(session, &shared)
            } else {
                ask(.session, about: Self.manager, &shared)
            }
        case .session:
            if let session = value?.text { observe(session, &shared) }
        case .lockedHint: return value?.isTrue == true ? true : nil
        }
        return nil
    }

    private func observe(_ session: String, _ shared: inout Shared) {
        shared.session = session
        bus.match("type='signal',sender='\(Self.login)',path='\(session)'")
        ask(.lockedHint, about: session, &shared)
    }

    private func lockSignal(_ message: BusMessage) -> Bool? {
        switch (message.interface, message.member) {
        case (Self.login + ".Session", "Lock"): true
        case (Self.login + ".Session", "Unlock"): false
        case (BusConnection.properties, "PropertiesChanged"):
            message.arguments.count > 1 ? message.arguments[1]["LockedHint"]?.isTrue : nil
        default: nil
        }
    }
}
