public import Identifiers
public import PeerConnection

/// What a relay reports of its cluster.
public enum ClusterEvent: Sendable {
    case joined(ClusterNode)
    case left(ClusterNode)
    case nameIsTaken
    /// A broadcast comes from another relay from now on.
    case fetched(BroadcastID, from: String)
    case lost(BroadcastID, from: String, EndReason)
    /// A broadcast of another relay has gone, or its publisher sends to this relay.
    case released(BroadcastID)
}

/// How a relay is one of several.
public struct ClusterSettings: Sendable {
    /// The name of this relay, which no other one has (``ClusterNode/isName(_:)``).
    public var node: String
    public var bus: any MessageBus

    public init(node: String, bus: any MessageBus) {
        self.node = node
        self.bus = bus
    }
}
