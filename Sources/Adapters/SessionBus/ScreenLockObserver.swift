import Synchronization

/// Observes whether the user's session is locked: by logind on the system bus, and by screen savers on the session bus.
///
/// logind: `LockedHint`, and the signals `Lock` and `Unlock`, of the user's graphical session (org.freedesktop.login1);
/// `Active` is false while another user's session is in front of it, which counts as locked.
/// Screen savers: `ActiveChanged` of org.freedesktop.ScreenSaver and of those that desktops have of their own. Not
/// every desktop has both, so the last one to speak is believed.
public final class ScreenLockObserver: Sendable {
    private let buses: [BusConnection]

    /// Connects; blocks until the buses have answered. A bus that is nil, or does not answer, is left out.
    /// - Parameters:
    ///   - sessionBus: an address, as in DBUS_SESSION_BUS_ADDRESS.
    ///   - systemBus: an address, as in DBUS_SYSTEM_BUS_ADDRESS.
    ///   - user: the numeric identifier of the user.
    ///   - onChange: called on GIO's threads when the session is locked and unlocked; at first only if it is locked.
    ///     Must not block.
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

    deinit { for bus in buses { bus.closeElsewhere() } }

    /// Disconnects; nothing is told any more. May be called more than once, not on GIO's thread.
    public func close() {
        for bus in buses { bus.close() }
    }
}

/// Tells of each change once, whoever it comes from.
final class LockState: Sendable {
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
