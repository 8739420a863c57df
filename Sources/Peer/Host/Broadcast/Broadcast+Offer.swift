package import Admission
import EventLoop
import ICETransport
package import Identifiers
import LinuxRuntime
package import MediaCore
package import PeerConnection
import PeerEngine
package import SessionDescription

/// Sessions that this host offers, to a service or another WHIP endpoint (RFC 9725 section 4.2). The other peer only
/// answers; from then on it is served like a viewer.
extension Broadcast {
    /// Offers the broadcast. Calls back on the loop when candidates are known.
    /// - Parameters:
    ///   - receiver: its `fingerprint` is the certificate that the answer must name; empty: the one that it names.
    ///   - timeout: the longest time to wait for candidates.
    package func offer(
        to receiver: Viewer, timeout: MediaDuration,
        done: @escaping @Sendable (Result<LocalOffer, OfferRefusal>) -> Void
    ) {
        let pending: PendingOffer
        do throws(OfferRefusal) {
            pending = try makeOffer(to: receiver)
        } catch {
            return done(.failure(error))
        }
        offers[pending.id] = pending
        pending.negotiation.initialCandidates(within: timeout, wanted: wantedKind) { [weak self] found in
            guard let self, let credentials = pending.negotiation.localCredentials,
                let own = Fingerprint(sha256: settings.fingerprint)
            else { return done(.failure(OfferRefusal(.ended, "The broadcast has ended."))) }
            let media = media(
                credentials, own, found.candidates, endsCandidates: found.isComplete, pending.ssrcs)
            done(.success(LocalOffer(id: pending.id, sdp: media.offer(.sending))))
        }
    }

    private func makeOffer(to receiver: Viewer) throws(OfferRefusal) -> PendingOffer {
        guard !isEnded else { throw OfferRefusal(.ended, "The broadcast has ended.") }
        guard viewers.count + offers.count < settings.maximumViewers else {
            throw OfferRefusal(.busy, "The host has as many viewers as it can serve.")
        }
        let allowance = allowances.allowance(for: receiver, now: MonotonicClock.now)
        do {
            let path = try makePath(to: receiver, isControlling: true, allowance)
            let negotiation = ICENegotiation(loop: loop, path: path)
            do throws(ICEFailure) {
                try negotiation.gather()
            } catch {
                negotiation.close()
                path.close {}
                throw error
            }
            var description = ViewerDescription(
                name: receiver.name, kind: receiver.kind, address: receiver.address, words: "")
            description.isPublication = true
            return PendingOffer(
                receiver: receiver, description: description, negotiation: negotiation, allowance: allowance,
                ssrcs: randomSSRCs(4))
        } catch {
            throw OfferRefusal(.busy, "The host cannot open a connection: \(error)")
        }
    }

    /// Applies the answer to an offer, which is over then, and starts the connection.
    /// - Throws: why the answer cannot be used. The offer is given up.
    package func begin(_ id: SessionID, answer text: String) throws(EndReason) {
        guard let pending = offers.removeValue(forKey: id) else {
            throw EndReason(.stopped, "the broadcast has ended")
        }
        let peer: SendingPeer
        let answer: Answer
        do throws(EndReason) {
            (peer, answer) = try makePeer(pending, answer: text)
        } catch {
            pending.close()
            throw error
        }
        viewers.add(peer)
        emit(.viewerJoined(pending.description, viewers: viewers.audience))
        peer.negotiation.begin(
            remote: answer.credentials, candidates: answer.candidates, ended: answer.endsCandidates)
        if let credentials = peer.negotiation.localCredentials {
            trickleLate(peer, credentials, mid: answer.video.first?.mid ?? answer.audio.first?.mid)
        }
    }

    private func makePeer(_ pending: PendingOffer, answer text: String) throws(EndReason) -> (SendingPeer, Answer) {
        let answer: Answer
        do throws(AnswerError) {
            answer = try Answer(text, to: .sending)
        } catch {
            throw EndReason(.failed, "the answer of \(pending.receiver.name) cannot be used (\(error))")
        }
        let expected = pending.receiver.fingerprint.isEmpty ? answer.fingerprint.bytes : pending.receiver.fingerprint
        guard answer.fingerprint.bytes == expected else {
            throw EndReason(.untrusted, "the answer of \(pending.receiver.name) names another certificate")
        }
        do {
            let transport = try SecureTransport(
                loop: loop, isServer: answer.setup.counterpart == .passive, identity: settings.identity,
                expectedFingerprint: expected, path: pending.negotiation.path)
            transport.expect(answer.fingerprints.others)
            return (
                SendingPeer(
                    id: pending.id, videoLine: nil, viewer: pending.receiver, description: pending.description,
                    loop: loop,
                    negotiation: pending.negotiation, transport: transport,
                    sender: makeSender(for: answer, pending.ssrcs, settings.viewerLimit?(pending.description)),
                    allowance: pending.allowance, delegate: self), answer
            )
        } catch {
            throw EndReason(.failed, "cannot open a connection to \(pending.receiver.name): \(error)")
        }
    }

    /// Gives up an offer that was not answered.
    package func cancelOffer(_ id: SessionID) { offers.removeValue(forKey: id)?.close() }

    /// Adds candidates that the other peer found after its answer. Fragments of another ICE session are ignored.
    package func add(_ fragment: TrickleFragment, to id: SessionID) {
        guard let peer = viewers[id], let credentials = fragment.credentials,
            !peer.negotiation.isRestart(credentials)
        else { return }
        peer.negotiation.add(fragment.candidates, ended: fragment.endsCandidates)
    }

    /// Whether ICE has selected a pair for a session.
    package func hasPath(_ id: SessionID) -> Bool { viewers[id]?.negotiation.path.selectedPair != nil }

    // MARK: ICE restart

    /// Uses these STUN and TURN servers for sessions that begin from now on, and for restarts of this one.
    package func use(_ servers: ICEServerResolver.Addresses, for id: SessionID) {
        self.servers = servers
        viewers[id]?.negotiation.path.use(servers)
    }

    /// Restarts ICE of a session that this host has offered (RFC 9725 section 4.3.2). Calls back on the loop with the
    /// fragment to send; nil if a restart is not possible now.
    package func restart(_ id: SessionID, done: @escaping @Sendable (String?) -> Void) {
        guard let peer = viewers[id], peer.negotiation.restart() else { return done(nil) }
        peer.negotiation.initialCandidates(within: .milliseconds(500), wanted: wantedKind) { found in
            guard let own = peer.negotiation.localCredentials else { return done(nil) }
            done(found.fragment(own, mid: "0").serialised)
        }
    }

    /// Applies the answer to an ICE restart.
    package func resume(_ id: SessionID, _ fragment: TrickleFragment) {
        guard let peer = viewers[id], let credentials = fragment.credentials else { return }
        peer.negotiation.begin(
            remote: credentials, candidates: fragment.candidates, ended: fragment.endsCandidates)
        // Those that were found after the restart was sent.
        if let own = peer.negotiation.localCredentials { trickleLate(peer, own, mid: "0") }
    }
}
