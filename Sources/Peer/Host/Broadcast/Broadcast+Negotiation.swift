package import Admission
import EventLoop
import ICETransport
package import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine
import RTPWire
package import SessionDescription

extension Broadcast {
    /// Answers an offer; calls back on the loop when candidates are known.
    package func open(
        offer text: String, viewer: Viewer, words: String,
        answer done: @escaping @Sendable (Result<OpenedSession, OfferRefusal>) -> Void
    ) {
        let (offer, own, pending): (Offer, Fingerprint, PendingPeer)
        do throws(OfferRefusal) {
            (offer, own) = try accept(text, from: viewer)
            for old in viewers.replaced(by: viewer) { end(old, .replaced) }
            makeRoom(for: viewer)
            guard !viewers.isFull else { throw OfferRefusal(.busy, "The host has as many viewers as it can serve.") }
            let description = ViewerDescription(
                name: viewer.name, kind: viewer.kind, address: viewer.address, words: words, records: viewer.records)
            pending = try openConnection(to: viewer, description, as: .answerer)
        } catch {
            return done(.failure(error))
        }
        let peer = begin(pending, offer, videoLine: settings.capabilities.hasVideo ? offer.videoLine : nil)
        // A viewer that has knocked gets later candidates as events; a player with the fixed token does not.
        let isTold = viewer.knock != nil
        peer.connection.localCandidates(
            within: isTold ? .milliseconds(200) : .seconds(4), wanted: servers.awaitedKind
        ) { [weak self] found in
            guard let self, let credentials = found.credentials else {
                return done(.failure(OfferRefusal(.busy, "The host found no way to receive.")))
            }
            let media = media(
                credentials, own, found.candidates, endsCandidates: found.isComplete || !isTold, pending.ssrcs,
                isLite: peer.connection.path.isLite)
            done(
                .success(
                    OpenedSession(id: peer.id, answer: media.answer(to: offer), etag: credentials.usernameFragment)))
            if isTold { trickle(peer) }
        }
    }

    /// Ends a session if all places are taken: one that has no connection yet, or the newest of the address that has most.
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
    private func displace(_ peer: SendingPeer) {
        // With the fixed token, others may have the same certificate.
        let sessions = peer.viewer.identity == nil ? [peer] : sessions(of: peer.viewer)
        for session in sessions {
            end(session, EndReason(.removed, "all places were taken, and its address had more than others"))
        }
        if peer.viewer.identity != nil { delegate?.broadcast(displaced: peer.viewer) }
    }

    /// Parses an offer and checks its fingerprint against the viewer.
    /// - Returns: the offer, and the fingerprint of this host's certificate.
    private func accept(
        _ text: String, from viewer: Viewer
    ) throws(OfferRefusal) -> (Offer, Fingerprint) {
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
        guard offer.fingerprint.bytes == viewer.fingerprint, let own = Fingerprint(sha256: settings.fingerprint) else {
            throw OfferRefusal(.unprocessable, "The offer's certificate is not the one that was let in.")
        }
        return (offer, own)
    }

    /// Opens a connection to a peer, within the limits of its place and of its allowance, and starts to gather candidates.
    /// - Parameter viewer: its `fingerprint` may be empty: the peer's description names it.
    func openConnection(
        to viewer: Viewer, _ description: ViewerDescription, as role: NegotiationRole
    ) throws(OfferRefusal) -> PendingPeer {
        let allowance = allowances.allowance(for: viewer, now: MonotonicClock.now)
        let place = CandidatePolicy.place(of: viewer.address, own: ICEAgent.localInterfaceAddresses())
        do {
            // A lite agent is always the controlled one (RFC 8445 section 6.1.1).
            let path = try PeerConnection.openPath(
                loop: loop,
                .init(
                    isControlling: role == .offerer, localAddresses: settings.localAddresses,
                    includesLoopback: settings.includesLoopback && place.gathersLoopback(with: servers),
                    usesOnlyRelays: settings.usesOnlyRelays, usesUPnP: settings.usesUPnP, ports: settings.ports),
                socket: role == .answerer ? settings.socket : nil, place: place, servers: servers, pool: agents,
                allowance: allowance)
            let connection = try PeerConnection(
                loop: loop, path: path, as: role, identity: settings.identity, fingerprint: viewer.fingerprint,
                repeatsCandidates: true, interruptionThreshold: SendingPeer.interruptionThreshold)
            return PendingPeer(
                viewer: viewer, description: description, connection: connection, allowance: allowance,
                ssrcs: randomSSRCs(4))
        } catch {
            throw OfferRefusal(.busy, "The host cannot open a connection: \(error)")
        }
    }

    /// Applies the peer's description: it is one of the viewers from then on.
    func begin(_ pending: PendingPeer, _ remote: some RemoteDescription, videoLine: Int?) -> SendingPeer {
        let sender = MediaSender(
            parameters(remote, pending.ssrcs, settings.viewerLimit?(pending.description)), forwarding: forwarded,
            seed: UInt64.random(in: .min ... .max), ntpEpoch: WallClock.now(), now: MonotonicClock.now)
        let peer = SendingPeer(pending, remote, videoLine: videoLine, sender: sender, broadcast: self)
        viewers.add(
            peer,
            end: peer.viewer.isAdmittedByRule
                ? { [weak self, weak peer] in peer.map { self?.displace($0) } } : nil)
        emit(.viewerJoined(peer.description, viewers: viewers.audience))
        return peer
    }

    private func randomSSRCs(_ count: Int) -> [UInt32] {
        var numbers = Set<UInt32>()
        while numbers.count < count { numbers.insert(UInt32.random(in: 1...UInt32.max)) }
        return Array(numbers)
    }

    func media(
        _ credentials: ICECredentials, _ fingerprint: Fingerprint, _ candidates: [ICECandidate], endsCandidates: Bool,
        _ ssrcs: [UInt32], isLite: Bool = false
    ) -> LocalDescription {
        LocalDescription(
            credentials: credentials, isLite: isLite, fingerprint: fingerprint, candidates: candidates,
            endsCandidates: endsCandidates,
            video: settings.capabilities.hasVideo ? [LocalVideoTrack(ssrc: ssrcs[0], rtxSSRC: ssrcs[1])] : [],
            audio: settings.audio.enumerated().map {
                LocalAudioTrack(
                    ssrc: ssrcs[2 + $0.offset], kind: $0.element.kind,
                    hasSilenceSuppression: $0.element.hasSilenceSuppression)
            }, cname: cname, streamID: "share", sessionID: UInt64.random(in: 1...(1 << 62)), name: settings.name)
    }

    /// Reports the candidates that are found after the description of this side, or after its answer to a restart.
    func trickle(_ peer: SendingPeer) {
        peer.connection.trickle { [weak self, id = peer.id] fragment in
            self?.delegate?.broadcast(foundCandidates: fragment, of: id)
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

    private func parameters(
        _ remote: some RemoteDescription, _ ssrcs: [UInt32], _ limit: Bitrate?
    ) -> SenderParameters {
        let maximum = min(limit ?? settings.maximumBitrate, settings.maximumBitrate)
        var result = SenderParameters(
            video: (settings.capabilities.hasVideo ? remote.video.first : nil).map {
                VideoStreamParameters(
                    ssrc: ssrcs[0], payloadType: $0.payloadType, rtxSSRC: $0.rtxPayloadType == nil ? nil : ssrcs[1],
                    rtxPayloadType: $0.rtxPayloadType, mid: $0.mid)
            },
            audio: zip(remote.audio, settings.audio.indices).map {
                AudioStreamParameters(
                    ssrc: ssrcs[2 + $1], payloadType: $0.payloadType, redundantPayloadType: $0.redundantPayloadType,
                    mid: $0.mid)
            },
            extensions: remote.extensions, cname: cname,
            startBitrate: min(.kilobits(2_500), maximum), maximumBitrate: maximum,
            usesTransportFeedback: remote.feedback.contains(.transportWide),
            usesREMB: remote.feedback.contains(.remb),
            historyCapacity: 2_048)
        // What this side publishes is limited by whom it goes to, such as a relay by its viewers. A viewer's own
        // estimator knows less than transport-wide feedback.
        result.obeysREMB = remote is Answer && remote.feedback.contains(.remb)
        return result
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
