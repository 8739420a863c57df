package import Admission
package import EventLoop
import ICETransport
import LinuxRuntime
package import MediaCore
package import PeerEngine
package import SessionDescription

/// Candidates in both directions: for descriptions, after them (trickle ICE, RFC 8838), and ICE restarts (RFC 9725
/// section 4.3).
extension PeerConnection {
    /// What this side has for a description or an ICE restart.
    package struct LocalCandidates: Sendable {
        /// Without tracks; nil at the end of the connection.
        package var description: LocalDescription?
        package var batch: CandidateGathering.Batch

        package var credentials: ICECredentials? { description?.credentials }
        package var isComplete: Bool { batch.isComplete }

        package static let none = LocalCandidates(batch: .init(isComplete: false))
    }

    // MARK: Local candidates

    /// Calls back once with the candidates found so far, after `timeout` at most; without credentials at the end of the
    /// connection.
    /// - Parameter wanted: the kind that is not waited past; nil waits for all candidates.
    package func localCandidates(
        within timeout: MediaDuration, wanted: ICECandidate.Kind?, _ body: @escaping (LocalCandidates) -> Void
    ) {
        guard !isEnded else { return body(.none) }
        let credentials = path.localCredentials
        candidates.initialCandidates(within: timeout, wanted: wanted) { [self] batch in
            guard !isEnded, let localFingerprint else { return body(.none) }
            let description = LocalDescription(
                credentials: credentials, isLite: path.isLite, fingerprint: localFingerprint,
                candidates: batch.candidates, endsCandidates: batch.isComplete)
            body(LocalCandidates(description: description, batch: batch))
        }
    }

    /// How long a side that receives waits for the candidates of its description. Later ones follow it.
    package static let receiverTimeout = MediaDuration.milliseconds(100)

    /// The kind that a side that receives waits for. The end of a gathering from servers that the other side has named
    /// is not waited for.
    package var grantedKind: ICECandidate.Kind? { path.servers.areGranted ? path.servers.awaitedKind : nil }

    /// Calls back once with later candidates; with nil if there will be no more with these credentials.
    package func nextCandidates(
        of credentials: ICECredentials, _ body: @escaping (CandidateGathering.Batch?) -> Void
    ) {
        guard !isEnded, path.localCredentials == credentials else { return body(nil) }
        candidates.next(body)
    }

    /// Calls back with each later fragment, until gathering is complete.
    package func trickle(_ send: @escaping (String) -> Void) {
        guard !isEnded else { return }
        let (credentials, mid) = (path.localCredentials, remote?.mid)
        candidates.trickle { send($0.fragment(credentials, mid: mid).serialised) }
    }

    // MARK: Remote candidates

    /// Applies the other side's answer to an ICE restart, or its request for one after `restart`.
    package func begin(_ credentials: ICECredentials, mid: String?, _ candidates: CandidateList, ended: Bool) {
        guard !isEnded else { return }
        remote = (credentials, mid)
        path.start(remote: credentials)
        path.add(candidates, ended: ended)
    }

    /// Adds candidates that the other side found after its answer. Fragments of another ICE session are ignored.
    package func add(_ fragment: TrickleFragment) {
        guard !isEnded, let credentials = fragment.credentials, credentials == remote?.credentials else { return }
        path.add(fragment.candidates, ended: fragment.endsCandidates)
    }

    /// Applies the offerer's fragment: further candidates, or an ICE restart if its credentials are new.
    /// - Parameters:
    ///   - timeout: how long the answer to a restart waits for candidates; later ones follow by `trickle`.
    ///   - done: called on the loop; the value is nil for candidates.
    package func apply(
        fragment text: String, within timeout: MediaDuration, wanted: ICECandidate.Kind?,
        done: @escaping (Result<RestartedSession?, OfferRefusal>) -> Void
    ) {
        let fragment: TrickleFragment
        do throws(OfferRefusal) {
            fragment = try Self.parse(text)
        } catch {
            return done(.failure(error))
        }
        guard let credentials = fragment.credentials, credentials != remote?.credentials else {
            path.add(fragment.candidates, ended: fragment.endsCandidates)
            return done(.success(nil))
        }
        let now = MonotonicClock.now
        let isAllowed = restarts.allows(hasProvenPair: path.hasProvenPair, now: now)
        // One that fails has cost as much.
        if isAllowed { restarts.noteRestart(now: now) }
        guard isAllowed, restart() else {
            return done(.failure(OfferRefusal(.busy, "ICE cannot be restarted now: try again later.")))
        }
        begin(credentials, mid: fragment.mid, fragment.candidates, ended: fragment.endsCandidates)
        localCandidates(within: timeout, wanted: wanted) { found in
            guard let own = found.credentials else {
                return done(.failure(OfferRefusal(.ended, "The session has ended.")))
            }
            let answer = found.batch.fragment(own, mid: fragment.mid)
            done(.success(RestartedSession(fragment: answer.serialised, etag: own.usernameFragment)))
        }
    }

    private static func parse(_ text: String) throws(OfferRefusal) -> TrickleFragment {
        let fragment: TrickleFragment
        do throws(SDPError) {
            fragment = try TrickleFragment.parse(text)
        } catch {
            throw OfferRefusal(.malformed, "That is not a trickle fragment.")
        }
        guard !fragment.isEmpty else {
            throw OfferRefusal(.malformed, "The fragment has neither candidates nor credentials.")
        }
        guard !fragment.hasBrokenCredentials else {
            throw OfferRefusal(.malformed, "The fragment has not both ice-ufrag and ice-pwd, well-formed.")
        }
        return fragment
    }

    // MARK: ICE restart

    /// Restarts ICE (RFC 8445 section 2.4): new credentials on the machine's present addresses. The old pair is used
    /// until the new one is selected. Afterwards call `localCandidates`, and `begin` with the other side's credentials.
    /// - Returns: false if a restart is not possible now.
    package func restart() -> Bool {
        guard !isEnded else { return false }
        do throws(ICEFailure) {
            try path.restart()
            candidates.begin(path)
            try path.gather()
            return true
        } catch {
            return false
        }
    }
}

extension LoopBound<PeerConnection> {
    /// Returns the candidates of a side that receives, found within 100 ms at most; without credentials at the end of
    /// the connection.
    package func receiverCandidates() async -> PeerConnection.LocalCandidates {
        await answer { $0.localCandidates(within: PeerConnection.receiverTimeout, wanted: $0.grantedKind, $1) } ?? .none
    }

    /// Reports the candidates that are found afterwards, as fragments, until gathering is complete.
    package func trickle(_ credentials: ICECredentials, _ send: (String) async -> Void) async {
        while let more = await answer(to: { $0.nextCandidates(of: credentials, $1) }) ?? nil {
            await send(more.fragment(credentials, mid: "0").serialised)
            if more.isComplete { return }
        }
    }
}
