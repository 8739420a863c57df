package import Admission
package import EventLoop
package import ICETransport
import LinuxRuntime
package import MediaCore
package import PeerEngine
package import SessionDescription

/// Which side of the offer/answer exchange a peer is (RFC 3264). The offerer is ICE's controlling agent. It is the DTLS
/// client unless the other side's description says otherwise; see `DTLSSetup.counterpart`.
package enum NegotiationRole: Sendable { case offerer, answerer }

/// Candidates in both directions: for descriptions, after them (trickle ICE, RFC 8838), and ICE restarts (RFC 9725
/// section 4.3).
extension PeerConnection {
    /// The credentials and candidates for a description or an ICE restart.
    package struct LocalCandidates: Sendable {
        /// Nil at the end of the connection.
        package var credentials: ICECredentials?
        package var batch: CandidateGathering.Batch

        package var candidates: [ICECandidate] { batch.candidates }
        package var isComplete: Bool { batch.isComplete }

        package static let none = LocalCandidates(credentials: nil, batch: .init(isComplete: false))
    }

    /// Opens an ICE path to a peer.
    /// - Parameters:
    ///   - socket: the UDP port that all peers share, or that is this offerer's own; nil: an ICE agent of its own.
    ///   - place: that of the peer, by its address in signalling.
    ///   - allowance: limits what the peer can cause; nil for a peer that this side has chosen.
    package static func openPath(
        loop: EventLoop, _ configuration: ICEAgent.Configuration, socket: LoopBound<ICELiteSocket>?,
        place: CandidatePolicy.Place, servers: ICEServerResolver.Addresses, pool: ICEAgentPool? = nil,
        allowance: (any TransportAllowance)?
    ) throws(ICEFailure) -> any NegotiatedPath {
        if let socket {
            return try ICELitePath(
                socket, isControlling: configuration.isControlling, place: place, allowance: allowance)
        }
        return try ICEPath(
            loop: loop, configuration: configuration, servers: servers,
            limits: .init(pool: pool, allowance: allowance, policy: CandidatePolicy(place)))
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
            body(isEnded ? .none : LocalCandidates(credentials: credentials, batch: batch))
        }
    }

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
        remote = (credentials, mid)
        path.start(remote: credentials)
        path.add(candidates, ended: ended)
    }

    /// Adds candidates that the other side found after its answer. Fragments of another ICE session are ignored.
    package func add(_ fragment: TrickleFragment) {
        guard let credentials = fragment.credentials, credentials == remote?.credentials else { return }
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
