import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
package import PeerConnection
package import PeerEngine
package import SessionDescription

/// Recovers from outages: runs `OutageRecovery` with a timer and performs its actions, or requests them of signalling.
extension Subscription {
    /// - Parameter reason: returns the reason for the session's end, used if the attempt was the last.
    package func attemptEnded(_ result: OutageRecovery.AttemptResult, reason: (OutageRecovery.End) -> EndReason) {
        recover(.attemptEnded(result), reason: reason)
    }

    /// - Parameter reason: the reason for the session's end, used if recovery decides that the host is gone.
    package func eventStreamRefused(_ reason: EndReason) {
        recover(.eventStreamRefused(silence: connection?.silence ?? .seconds(2))) { _ in reason }
    }

    /// - Parameter reason: returns the reason for the session's end, used if recovery ends it.
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
        case .end(let end): outcome.fulfil(reason(end))
        }
    }

    // MARK: Attempts

    /// The next restart uses these STUN and TURN servers.
    package func use(_ servers: ICEServerResolver.Addresses) { connection?.path.use(servers) }

    /// Begins an ICE restart. Call `initialCandidates` afterwards.
    /// - Returns: false if this machine has no address.
    package func restart() -> Bool { connection?.restart() ?? false }

    package func applyRestartAnswer(_ credentials: ICECredentials, _ candidates: CandidateList, ended: Bool) {
        connection?.begin(credentials, mid: "0", candidates, ended: ended)
    }
}
