package import EventLoop
import MediaCore
import PeerConnection
package import PeerEngine
package import SessionDescription

/// Hands out this side's candidates: for the offer, for an ICE restart, and after them (trickle ICE, RFC 8838).
extension Subscription {
    /// The credentials and candidates for an offer or an ICE restart.
    package struct Gathered: Sendable {
        /// Nil at the end of the session.
        package var credentials: ICECredentials?
        package var batch: CandidateGathering.Batch

        package var candidates: [ICECandidate] { batch.candidates }
        package var isComplete: Bool { batch.isComplete }

        static let none = Gathered(credentials: nil, batch: .init(isComplete: false))
    }

    private static let longestWait = MediaDuration.milliseconds(100)

    /// Calls back once with the candidates found so far, after `longestWait` at most; without credentials at the end of
    /// the session.
    func initialCandidates(_ body: @escaping (Gathered) -> Void) {
        guard !isClosed, let isForeign = connection?.path.usesGrantedServers else { return body(.none) }
        // The end of a gathering from servers that the other side has named is not waited for.
        let wanted = isForeign ? awaitedKind : nil
        candidates.initialCandidates(within: Self.longestWait, wanted: wanted) { [weak self] batch in
            guard let self, !isClosed, let path = connection?.path else { return body(.none) }
            body(Gathered(credentials: path.localCredentials, batch: batch))
        }
    }

    /// Calls back once with later candidates; with nil if there will be no more with these credentials.
    func whenMore(of credentials: ICECredentials, _ body: @escaping (CandidateGathering.Batch?) -> Void) {
        guard !isClosed, connection?.path.localCredentials == credentials else { return body(nil) }
        candidates.next(body)
    }
}

extension LoopBound<Subscription> {
    package func gathered() async -> Subscription.Gathered {
        await withCheckedContinuation { continuation in
            let isRunning = perform { $0.initialCandidates { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: .none) }
        }
    }

    /// Restarts ICE as the other side has asked for, in one step: several restarts follow each other.
    /// - Parameters:
    ///   - remote: the other side's new credentials; `fragment` has its candidates.
    ///   - applied: called on the loop when the restart has begun.
    /// - Returns: nil if a restart is not possible now.
    package func restart(
        with remote: ICECredentials, _ fragment: TrickleFragment, applied: @escaping @Sendable () -> Void
    ) async -> Subscription.Gathered? {
        await withCheckedContinuation { continuation in
            let isRunning = perform { session in
                guard session.restart() else { return continuation.resume(returning: nil) }
                applied()
                session.applyRestartAnswer(remote, fragment.candidates, ended: fragment.endsCandidates)
                session.initialCandidates { continuation.resume(returning: $0) }
            }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    /// Reports the candidates that are found after `gathered`, as fragments, until gathering is complete.
    package func trickle(_ credentials: ICECredentials, _ send: (String) async -> Void) async {
        while let more = await more(of: credentials) {
            await send(more.fragment(credentials, mid: "0").serialised)
            if more.isComplete { return }
        }
    }

    private func more(of credentials: ICECredentials) async -> CandidateGathering.Batch? {
        await withCheckedContinuation { continuation in
            let isRunning = perform { $0.whenMore(of: credentials) { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }
}
