import Synchronization

/// The state of the broadcast as the messages of the bus tell it.
final class BroadcastObservation: Sendable {
    private struct Shared {
        /// The connection that has the name. Signals of others are ignored, as anybody can send them.
        var owner: String?
        var state: BroadcastObject.State?
        var ownerQuery: UInt32 = 0
        var stateQuery: UInt32 = 0
    }

    private let bus: BusConnection
    private let onChange: BroadcastObserver.Change
    // It is held while a query is sent, so that its reply is handled after its number is known.
    private let shared = Mutex(Shared())

    init(_ bus: BusConnection, _ onChange: @escaping BroadcastObserver.Change) {
        self.bus = bus
        self.onChange = onChange
    }

    func begin() {
        let name = BroadcastObject.name
        bus.match(
            "type='signal',sender='\(BusConnection.bus)',interface='\(BusConnection.bus)',member='NameOwnerChanged',"
                + "arg0='\(name)'")
        bus.match(
            "type='signal',sender='\(name)',interface='\(BusConnection.properties)',member='PropertiesChanged',"
                + "path='\(BroadcastObject.path)',arg0='\(name)'")
        shared.withLock { shared in
            shared.ownerQuery = bus.call(
                BusConnection.bus, BusConnection.busPath, BusConnection.bus, "GetNameOwner", [.text(name)])
        }
    }

    func take(_ message: BusMessage) {
        // A change to no broadcast is a change, too.
        let change = shared.withLock { shared -> BroadcastObject.State?? in
            if let owner = message.newOwner(of: BroadcastObject.name) { return follow(owner, &shared) }
            switch message.kind {
            case .reply where message.replySerial == shared.ownerQuery && message.sender == BusConnection.bus:
                return follow(message.arguments.first?.text ?? "", &shared)
            case .error where message.replySerial == shared.ownerQuery: return follow("", &shared)
            case .reply where message.replySerial == shared.stateQuery && message.sender == shared.owner:
                guard let properties = message.arguments.first, properties["Broadcasting"] != nil else {
                    return .some(nil)
                }
                return .some(set(properties, &shared))
            case .error where message.replySerial == shared.stateQuery: return .some(nil)
            case .signal where message.sender == shared.owner && message.path == BroadcastObject.path:
                guard message.isSignal(BusConnection.properties, "PropertiesChanged"), message.arguments.count > 1,
                    message.arguments[0].text == BroadcastObject.name, shared.state != nil
                else { return nil }
                return .some(set(message.arguments[1], &shared))
            default: return nil
            }
        }
        if let change { onChange(change) }
    }

    /// Begins to follow a new owner of the name, from its properties on.
    private func follow(_ owner: String, _ shared: inout Shared) -> BroadcastObject.State?? {
        // The answer to the first query may come after a signal about the same owner.
        guard owner != shared.owner || shared.state == nil else { return nil }
        shared.ownerQuery = 0
        shared.owner = owner.isEmpty ? nil : owner
        shared.state = nil
        guard !owner.isEmpty else {
            shared.stateQuery = 0
            return .some(nil)
        }
        shared.stateQuery = bus.call(
            owner, BroadcastObject.path, BusConnection.properties, "GetAll", [.text(BroadcastObject.name)])
        return nil
    }

    private func set(_ properties: BusValue, _ shared: inout Shared) -> BroadcastObject.State {
        var state = shared.state ?? BroadcastObject.State()
        state.isCaptured = properties["Captured"]?.isTrue ?? state.isCaptured
        state.isBroadcasting = properties["Broadcasting"]?.isTrue ?? state.isBroadcasting
        state.isPaused = properties["Paused"]?.isTrue ?? state.isPaused
        state.hasMicrophone = properties["Microphone"]?.isTrue ?? state.hasMicrophone
        state.viewers = properties["Viewers"]?.number ?? state.viewers
        state.service = properties["Service"]?.text ?? state.service
        shared.state = state
        return state
    }
}
