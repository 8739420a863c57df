import Admission
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
            case .accepted: statistics.connections += 1
            case .refused: statistics.connectionsRefused += 1
            case .displaced: statistics.connectionsDisplaced += 1
            case .plainHTTP: statistics.plainHTTP += 1
            case .handshakeTimedOut: statistics.handshakesTimedOut += 1
            case .writeTimedOut: statistics.writesTimedOut += 1
            }
        }
    }

    func count(_ outcome: KnockTable.Outcome) {
        count { statistics in
            switch outcome {
            case .granted: statistics.knocksAccepted += 1
            case .refused: statistics.knocksRefused += 1
            case .unanswered: statistics.knocksUnanswered += 1
            case .withdrawn, .ended, .replaced, .displaced: statistics.knocksWithdrawn += 1
            case .crowded, .busy: statistics.knocksLimited += 1
            case .expired: break
            }
        }
    }

    func count(_ outcome: PairingTable.Outcome) {
        count { statistics in
            switch outcome {
            case .granted: statistics.pairingsAccepted += 1
            case .refused: statistics.pairingsRefused += 1
            case .unanswered: statistics.pairingsUnanswered += 1
            case .withdrawn, .ended, .replaced, .displaced: statistics.pairingsWithdrawn += 1
            case .crowded, .busy: statistics.pairingsLimited += 1
            // A granted pairing's end.
            case .expired: break
            }
        }
    }
}
