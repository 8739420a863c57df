internal import FoundationEssentials
internal import Glibc
internal import LinuxRuntime
internal import SessionBus

/// Whether the user's session is locked, as the session bus and logind say. Without either it is not.
final class SessionLock: Sendable {
    /// On the buses of this process.
    static let shared = SessionLock(ProcessInfo.processInfo.environment)

    private let observer = Monitor<ScreenLockObserver?>(nil)
    private let changes = StateChanges(false)

    /// Begins to observe; returns at once.
    init(_ environment: [String: String]) {
        let (changes, observer) = (changes, observer)
        // The buses may answer slowly.
        _ = NamedThread("session-lock") {
            let made = ScreenLockObserver(
                sessionBus: SessionBusAddress.running(in: environment),
                systemBus: environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket",
                user: getuid()
            ) { isLocked in changes.update { isLocked } }
            observer.with { $0 = made }
        }
    }

    var isLocked: Bool { changes.value }

    /// The changes, from the current value on.
    var stream: AsyncStream<Bool> { changes.stream }
}
