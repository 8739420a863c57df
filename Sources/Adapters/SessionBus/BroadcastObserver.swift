/// Observes the system broadcast on a session bus: the name, the interface and the object of ``BroadcastObject``.
public final class BroadcastObserver: Sendable {
    /// Called at first and after each change, on GIO's thread. Must not block.
    public typealias Change = @Sendable (BroadcastSighting) -> Void

    private let bus: BusConnection
    private let observation: BroadcastObservation

    /// Connects. Blocks until the bus has answered, but not for the first state.
    /// - Parameter address: as in DBUS_SESSION_BUS_ADDRESS. Unlike GIO's default, this starts no bus.
    /// - Returns: nil if no bus answers.
    public init?(address: String, onChange: @escaping Change) {
        guard let bus = BusConnection(address: address) else { return nil }
        self.bus = bus
        let observation = BroadcastObservation(bus, onChange)
        self.observation = observation
        bus.listen { message in
            observation.take(message)
            return false
        }
        observation.begin()
    }

    deinit { bus.closeElsewhere() }

    /// Whether the bus still answers. When it has gone, no change is told any more.
    public var isConnected: Bool { bus.isConnected }

    /// Ends the broadcast, if there is one.
    public func stop() {
        bus.call(BroadcastObject.name, BroadcastObject.path, BroadcastObject.name, "Stop", expectsReply: false)
    }

    /// Disconnects; nothing is told any more. May be called more than once, not on GIO's thread.
    public func close() { bus.close() }
}
