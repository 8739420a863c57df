import Synchronization

/// The screen savers of a session bus.
final class ScreenSavers: Sendable {
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
