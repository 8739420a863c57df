public import Admission
import EventLoop
import LinuxRuntime
package import Publishing
public import Signaling
import Transport

/// What the signalling server asks of the host.
extension HostSession: SignalingServerDelegate {
    public func decide(_ knock: Knock) async -> KnockDecision { await knocks.decide(knock) }

    public func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async {
        knocks.knockWithdrawn(knock, because: reason)
    }

    public func open(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession {
        let words = viewer.words?.description ?? ""
        let opened: OpenedSession = try await ask { broadcast, done in
            broadcast.open(offer: offer, viewer: viewer, words: words, answer: done)
        }
        if let served = served.with({ $0 }) {
            served.send(.viewerCount(await core.ifRunning { $0.viewerCount } ?? 0))
        }
        return opened
    }

    public func patch(_ fragment: String, _ session: SessionID) async throws(OfferRefusal) -> RestartedSession? {
        try await ask { broadcast, done in broadcast.patch(fragment, session, done: done) }
    }

    /// Runs a request on the network loop and waits for its answer.
    private func ask<Answer: Sendable>(
        _ request: @escaping @Sendable (Broadcast, @escaping @Sendable (Result<Answer, OfferRefusal>) -> Void) -> Void
    ) async throws(OfferRefusal) -> Answer {
        let result: Result<Answer, OfferRefusal> = await withCheckedContinuation { continuation in
            let isRunning = core.perform { broadcast in request(broadcast) { continuation.resume(returning: $0) } }
            if !isRunning {
                continuation.resume(returning: .failure(OfferRefusal(.notLive, "The broadcast has ended.")))
            }
        }
        return try result.get()
    }

    public func listening(_ isOpen: Bool, _ sessions: [SessionID]) async {
        await core.ifRunning { $0.listening(isOpen, sessions) }
    }

    public func close(_ session: SessionID) async { await core.ifRunning { $0.close(session) } }
}

/// What the broadcast reports.
extension HostSession: BroadcastDelegate {
    package func broadcast(emitted event: BroadcastEvent) {
        emit(event)
        servers.check(after: event)
    }

    package func broadcast(foundCandidates fragment: String, of session: SessionID) {
        served.with { $0 }?.send(candidates: fragment, of: session)
    }

    package func broadcast(ended session: SessionID, viewers: Int) {
        let served = served.with { $0 }
        served?.forget(session)
        served?.send(.viewerCount(viewers))
    }
}
