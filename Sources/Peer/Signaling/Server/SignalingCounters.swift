import HTTP
import Synchronization

/// Counts into the ``SignalingStatistics`` of a server. Safe from any thread.
final class SignalingCounters: Sendable {
    private let state = Mutex(SignalingStatistics())

    var statistics: SignalingStatistics { state.withLock { $0 } }

    func count(_ change: @Sendable (inout SignalingStatistics) -> Void) { state.withLock { change(&$0) } }

    func count(_ event: ConnectionRegistry.Event) {
        count { statistics in
            switch event {
            case .accepted: statistics.connections.accepted += 1
            case .refused: statistics.connections.refused += 1
            case .displaced: statistics.connections.displaced += 1
            case .plainHTTP: statistics.connections.plainHTTP += 1
            case .handshakeTimedOut: statistics.connections.handshakesTimedOut += 1
            case .writeTimedOut: statistics.connections.writesTimedOut += 1
            }
        }
    }
}
