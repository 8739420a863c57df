package import Admission
package import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine
package import SessionDescription

extension Broadcast {
    /// Answers an offer; calls back on the loop when candidates are known.
    package func open(
        offer text: String, viewer: Viewer, words: String,
        answer done: @escaping @Sendable (Result<OpenedSession, OfferRefusal>) -> Void
    ) {
        let (offer, pending): (Offer, PendingPeer)
        do throws(OfferRefusal) {
            offer = try accept(text, from: viewer)
            for old in viewers.replaced(by: viewer) { end(old, .replaced) }
            makeRoom(for: viewer)
            guard !viewers.isFull else { throw OfferRefusal(.busy, "The host has as many viewers as it can serve.") }
            pending = try connections.open(to: viewer, ViewerDescription(viewer, words: words), as: .answerer)
        } catch {
            return done(.failure(error))
        }
        let peer = begin(pending, offer, videoLine: settings.capabilities.hasVideo ? offer.videoLine : nil)
        // A viewer that has knocked gets later candidates as events; a player with the fixed token does not.
        let isTold = viewer.knock != nil
        peer.connection.localCandidates(
            within: isTold ? .milliseconds(200) : .seconds(4), wanted: servers.awaitedKind
        ) { [weak self] found in
            guard let self, var own = connections.description(of: pending, found) else {
                return done(.failure(OfferRefusal(.busy, "The host found no way to receive.")))
            }
            if !isTold { own.endsCandidates = true }
            let answer = own.answer(to: offer)
            done(.success(OpenedSession(id: peer.id, answer: answer, etag: own.credentials.usernameFragment)))
            delegate?.handle(.opened(peer.id, viewer))
            if isTold { trickle(peer) }
        }
    }

    /// Ends a session if all places are taken: one that has no connection yet, or the newest of the address that has
    /// most.
    private func makeRoom(for newcomer: Viewer) {
        guard viewers.isFull else { return }
        displaceHalfOpen(for: newcomer)
        let address = PeerAddress(newcomer.address).key
        for places in viewers.places { places.makeRoom(for: address) }
    }

    /// Ends a session that has no connection yet, if one has to make room for a newcomer.
    private func displaceHalfOpen(for newcomer: Viewer) {
        let loser = HalfOpenDisplacement.loser(
            among: viewers.halfOpen(now: MonotonicClock.now), newcomer: PeerAddress(newcomer.address).key)
        guard let peer = loser.flatMap({ viewers[$0] }) else { return }
        end(peer, EndReason(.noRoute, "no connection came about, and another viewer needed the place"))
    }

    /// Ends the sessions of a viewer whose place another one needs.
    private func displace(_ peer: ViewerPeer) {
        // With the fixed token, others may have the same certificate.
        let sessions = peer.viewer.identity == nil ? [peer] : sessions(of: peer.viewer)
        for session in sessions {
            end(session, EndReason(.removed, "all places were taken, and its address had more than others"))
        }
        if peer.viewer.identity != nil { delegate?.handle(.displaced(peer.viewer)) }
    }

    /// Parses an offer and checks its fingerprint against the viewer.
    private func accept(_ text: String, from viewer: Viewer) throws(OfferRefusal) -> Offer {
        guard !isEnded else { throw OfferRefusal(.ended, "The broadcast has ended.") }
        let offer: Offer
        do throws(OfferError) {
            offer = try Offer(text, for: settings.capabilities)
        } catch {
            guard error == .noCommonVideoCodec, let codec = settings.capabilities.videoCodecs.first else {
                throw error.refusal
            }
            throw OfferRefusal(
                .unsupportedCodec, "The broadcast's video is \(codec.rawValue), which the offer does not have.")
        }
        guard offer.fingerprint.bytes == viewer.fingerprint else {
            throw OfferRefusal(.unprocessable, "The offer's certificate is not the one that was let in.")
        }
        return offer
    }

    /// Applies the peer's description: it is one of the viewers from then on.
    func begin(_ pending: PendingPeer, _ remote: some RemoteDescription, videoLine: Int?) -> ViewerPeer {
        let sender = connections.makeSender(of: pending, remote, forwarding: forwarding?.media)
        let peer = ViewerPeer(pending, remote, videoLine: videoLine, sender: sender, broadcast: self)
        viewers.add(
            peer,
            end: peer.viewer.isAdmittedByRule
                ? { [weak self, weak peer] in peer.map { self?.displace($0) } } : nil)
        expectViewers()
        emit(.viewerJoined(peer.description, viewers: viewers.audience))
        return peer
    }

    /// Reports the candidates that are found after the description of this side, or after its answer to a restart.
    func trickle(_ peer: ViewerPeer) {
        peer.connection.trickle { [weak self, id = peer.id] fragment in
            self?.delegate?.handle(.candidates(fragment, of: id))
        }
    }

    /// Applies a trickle fragment: further candidates, or an ICE restart if its credentials are new (RFC 9725 section
    /// 4.4).
    /// - Parameter done: called on the loop; the value is nil for candidates.
    package func applyFragment(
        _ text: String, to id: SessionID, done: @escaping @Sendable (Result<RestartedSession?, OfferRefusal>) -> Void
    ) {
        guard let viewer = viewers[id] else {
            return done(.failure(OfferRefusal(.unknownSession, "There is no such session.")))
        }
        // The viewer's event stream is likely dead, so the answer contains the candidates that are found within a
        // second.
        viewer.connection.apply(fragment: text, within: .seconds(1), wanted: servers.awaitedKind) {
            [weak self] result in
            done(result)
            if case .success(.some) = result { self?.trickle(viewer) }
        }
    }
}

extension OfferError {
    package var refusal: OfferRefusal {
        switch self {
        case .notSDP: OfferRefusal(.malformed, "The offer is not SDP.")
        case .tooLarge: OfferRefusal(.malformed, "The offer is too large.")
        case .noCommonVideoCodec:
            OfferRefusal(.unsupportedCodec, "The offer has no video codec that is taken here.")
        case .nothingInCommon:
            OfferRefusal(.notAcceptable, "The offer receives neither the broadcast's video nor its audio.")
        case .noBundle: OfferRefusal(.unprocessable, "The offer does not bundle its sections.")
        case .noRTCPMux: OfferRefusal(.unprocessable, "The offer has RTP and RTCP on different ports.")
        case .noCredentials: OfferRefusal(.unprocessable, "The offer has no ICE credentials.")
        case .noFingerprint: OfferRefusal(FingerprintError.missing)
        case .severalCertificates: OfferRefusal(FingerprintError.ambiguous)
        case .postponedDTLS:
            OfferRefusal(
                .unprocessable, "The offer has a=setup:holdconn: it has to say actpass, active or passive.")
        case .noDTLSRole:
            OfferRefusal(.unprocessable, "The offer has no a=setup: it has to say actpass, active or passive.")
        case .noMediaIdentification:
            OfferRefusal(.unprocessable, "The offer bundles its sections, but they have no a=mid.")
        case .ambiguousPayloadType(let type, let encodings):
            OfferRefusal(
                .unprocessable,
                "The offer has payload type \(type) for \(encodings.joined(separator: " and for ")): within one section, "
                    + "and within one BUNDLE group, it is one codec.")
        }
    }
}
