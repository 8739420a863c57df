package import Admission
package import EventLoop
import MediaCore
package import PeerConnection
import PeerEngine
package import SessionDescription

/// Hands out this side's candidates: for the offer, for an ICE restart, and after them (trickle ICE, RFC 8838).
extension Subscription {
    package typealias Gathered = PeerConnection.LocalCandidates

    private static let longestWait = MediaDuration.milliseconds(100)

    /// Calls back once with the candidates found so far, after `longestWait` at most; without credentials at the end of
    /// the session.
    func initialCandidates(_ body: @escaping (Gathered) -> Void) {
        guard let connection else { return body(.none) }
        connection.localCandidates(within: Self.longestWait, wanted: awaitedKind, body)
    }

    /// The end of a gathering from servers that the other side has named is not waited for.
    private var awaitedKind: ICECandidate.Kind? {
        connection.flatMap { $0.path.servers.areGranted ? $0.path.servers.awaitedKind : nil }
    }

    /// Applies the offerer's fragment; see `PeerConnection.apply`.
    package func applyFragment(
        _ text: String, done: @escaping (Result<RestartedSession?, OfferRefusal>) -> Void
    ) {
        guard let connection else { return done(.failure(OfferRefusal(.ended, "The session has ended."))) }
        connection.apply(fragment: text, within: Self.longestWait, wanted: awaitedKind, done: done)
    }

    /// Reports the candidates that are found after an answer, as fragments, until gathering is complete.
    package func trickle(_ send: @escaping (String) -> Void) { connection?.trickle(send) }
}

extension LoopBound<Subscription> {
    package func gathered() async -> Subscription.Gathered {
        await answer { $0.initialCandidates($1) } ?? .none
    }

    /// Reports the candidates that are found after `gathered`, as fragments, until gathering is complete.
    package func trickle(_ credentials: ICECredentials, _ send: (String) async -> Void) async {
        while let more = await more(of: credentials) {
            await send(more.fragment(credentials, mid: "0").serialised)
            if more.isComplete { return }
        }
    }

    private func more(of credentials: ICECredentials) async -> CandidateGathering.Batch? {
        await answer { session, done in
            guard let connection = session.connection else { return done(nil) }
            connection.nextCandidates(of: credentials, done)
        } ?? nil
    }
}
