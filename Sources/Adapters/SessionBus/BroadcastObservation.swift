import MediaCore
import Synchronization

/// The state of the broadcast as the messages of the bus tell it.
final class BroadcastObservation: Sendable {
    private struct Shared {
        /// The connection that has the name. Signals of others are ignored, as anybody can send them.
        var owner: String?
        var state: BroadcastObject.State?
        /// The owner's process; nil until the bus has told it.
        var process: Int?
        /// Something was told already.
        var hasTold = false
        var ownerQuery: UInt32 = 0
        var processQuery: UInt32 = 0
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
        let change = shared.withLock { shared -> BroadcastSighting? in
            let change = sighting(message, &shared)
            if change != nil { shared.hasTold = true }
            return change
        }
        if let change { onChange(change) }
    }

    private func sighting(_ message: BusMessage, _ shared: inout Shared) -> BroadcastSighting? {
        if let owner = message.newOwner(of: BroadcastObject.name) { return follow(owner, &shared) }
        switch message.kind {
        case .reply where message.replySerial == shared.ownerQuery && message.sender == BusConnection.bus:
            return follow(message.arguments.first?.text ?? "", &shared)
        case .error where message.replySerial == shared.ownerQuery: return follow("", &shared)
        case .reply where message.replySerial == shared.processQuery && message.sender == BusConnection.bus:
            // The bus answers in the order of the questions, before the owner does.
            shared.process = message.arguments.first?.number
            return nil
        case .reply where message.replySerial == shared.stateQuery && message.sender == shared.owner:
            guard let properties = message.arguments.first, properties["Broadcasting"] != nil else {
                return .unknown
            }
            return set(properties, &shared)
        case .error where message.replySerial == shared.stateQuery: return .unknown
        case .signal where message.sender == shared.owner && message.path == BroadcastObject.path:
            guard message.isSignal(BusConnection.properties, "PropertiesChanged"), message.arguments.count > 1,
                message.arguments[0].text == BroadcastObject.name, shared.state != nil
            else { return nil }
            return set(message.arguments[1], &shared)
        default: return nil
        }
    }

    /// Begins to follow a new owner of the name, from its properties on.
    private func follow(_ owner: String, _ shared: inout Shared) -> BroadcastSighting? {
        // The answer to the first query may come after a signal about the same owner.
        guard owner != shared.owner || shared.state == nil else { return nil }
        shared.ownerQuery = 0
        shared.owner = owner.isEmpty ? nil : owner
        shared.state = nil
        shared.process = nil
        guard !owner.isEmpty else {
            shared.stateQuery = 0
            return .nobody
        }
        shared.processQuery = bus.call(
            BusConnection.bus, BusConnection.busPath, BusConnection.bus, "GetConnectionUnixProcessID", [.text(owner)])
        shared.stateQuery = bus.call(
            owner, BroadcastObject.path, BusConnection.properties, "GetAll", [.text(BroadcastObject.name)])
        // Until it answers, what the former owner has said does not hold. At first the answer is waited for.
        return shared.hasTold ? .unknown : nil
    }

    private func set(_ properties: BusValue, _ shared: inout Shared) -> BroadcastSighting {
        var state = shared.state ?? BroadcastObject.State()
        state.isCaptured = properties["Captured"]?.isTrue ?? state.isCaptured
        state.isBroadcasting = properties["Broadcasting"]?.isTrue ?? state.isBroadcasting
        for (hold, name) in [(BroadcastHold.pause, "Paused"), (.blank, "Blanked"), (.freeze, "Frozen")] {
            guard let isOn = properties[name]?.isTrue else { continue }
            if isOn { state.holds.insert(hold) } else { state.holds.remove(hold) }
        }
        state.hasMicrophone = properties["Microphone"]?.isTrue ?? state.hasMicrophone
        state.viewers = properties["Viewers"]?.number ?? state.viewers
        state.service = properties["Service"]?.text ?? state.service
        state.controller = properties["Controller"]?.text ?? state.controller
        shared.state = state
        return .broadcast(state, process: shared.process)
    }
}
