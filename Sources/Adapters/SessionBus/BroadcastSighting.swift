/// What the session bus tells of the system broadcast.
public enum BroadcastSighting: Sendable, Equatable {
    /// Nobody has its name.
    case nobody
    /// Somebody has its name who does not answer as a broadcast does.
    case unknown
    /// - Parameter process: that has the name, by the bus; nil if the bus does not tell.
    case broadcast(BroadcastObject.State, process: Int?)

    public var state: BroadcastObject.State? {
        if case .broadcast(let state, _) = self { state } else { nil }
    }
}
