import EventLoop
import ICETransport
import LinuxRuntime
package import MediaCore
package import PeerEngine
package import SessionDescription
package import Transport

/// Outages: runs `OutageRecovery` with a timer, and does what it asks for. Signalling is asked for the rest.
extension Subscription {
    /// What recovery asks of whoever has the signalling connection.
    package enum RecoveryRequest: Sendable {
        /// Make it, and call `attemptEnded`.
        case attempt(ReconnectionPolicy.Attempt, timeout: MediaDuration)
        /// Those from before the outage.
        case closeConnections
    }

    /// At most a request to close and an attempt wait to be taken up.
    package static let recoveryRequestLimit = 2

    /// - Parameter reason: of the session's end, if recovery says that the attempt was the last.
    package func attemptEnded(_ result: OutageRecovery.AttemptResult, reason: (OutageRecovery.End) -> EndReason) {
        recover(.attemptEnded(result), reason: reason)
    }

    /// - Parameter reason: of the session's end, if recovery says that the host is gone.
    package func eventStreamRefused(_ reason: EndReason) {
        recover(.eventStreamRefused(silence: connection?.silence ?? .seconds(2))) { _ in reason }
    }

    /// - Parameter reason: of the session's end, if recovery says so.
    func recover(
        _ input: OutageRecovery.Input, reason: (OutageRecovery.End) -> EndReason = { _ in .hostIsSilent }
    ) {
        guard !isClosed else { return }
        let actions = recovery.handle(input, now: MonotonicClock.now)
        recoveryTimer.set(recovery.deadline)
        for action in actions { perform(action, reason) }
    }

    func recoveryTimeout() {
        let addressesChanged =
            recovery.watchesAddresses && ICEAgent.localInterfaceAddresses() != addressesAtAttempt
        recover(.timeout(addressesChanged: addressesChanged))
    }

    private func perform(_ action: OutageRecovery.Action, _ reason: (OutageRecovery.End) -> EndReason) {
        switch action {
        case .report(let outage): emit(.waiting(outage))
        case .attempt(let attempt, let timeout):
            addressesAtAttempt = ICEAgent.localInterfaceAddresses()
            request(.attempt(attempt, timeout: timeout))
        case .cleanUp:
            connection?.path.dropUnansweredRestart()
            request(.closeConnections)
        case .end(let end): outcome.settle(reason(end))
        }
    }

    // MARK: Attempts

    /// Begins an ICE restart; then ask for `whenGathered`.
    /// - Returns: false if this machine has no address.
    package func restart() -> Bool {
        guard !isClosed, let connection else { return false }
        do throws(ICEFailure) {
            try connection.path.restart()
            candidates.begin(connection.path)
            try connection.path.gather()
            return true
        } catch {
            return false
        }
    }

    package func resume(_ credentials: ICECredentials, _ candidates: CandidateList, ended: Bool) {
        hostCredentials = credentials
        connection?.resume(credentials, candidates, ended: ended)
    }
}
