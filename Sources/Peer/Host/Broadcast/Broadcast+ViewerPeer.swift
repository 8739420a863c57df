import Admission
import Identifiers
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection

extension Broadcast {
    /// Handles what a viewer's connection reports.
    func handle(_ event: PeerConnection.Event, of peer: ViewerPeer) {
        switch event {
        case .connected:
            if peer.connection.path.isOnThisMachine { peer.sender.startUnpaced() }
            // Before the video thread is woken, which else encodes what has changed for nobody.
            viewerNeedsKeyframe(peer)
            updateEncoders()
            expectViewers()
            updateReferences(MonotonicClock.now)
            tellLayers([peer])
            delegate?.handle(.connected(peer.id))
            emit(.connected(peer.description, path: peer.pathSummary))
        case .interrupted:
            updateEncoders()
            emit(.interrupted(peer.description))
        case .resumed(let silence):
            viewerNeedsKeyframe(peer)
            updateEncoders()
            emit(.resumed(peer.description, path: peer.pathSummary, after: silence))
        case .checked: if peer.isReceiving, peer.needsKeyframe { viewerNeedsKeyframe(peer) }
        case .keyframeNeeded: viewerNeedsKeyframe(peer)
        case .recoveryNeeded(let number): viewerNeedsRecovery(peer, from: number)
        // The end of seconds of loss. A native viewer reports at once which reference it can recover from; browsers ask
        // for a key frame only after 3 s.
        case .selectedNewPair: if !peer.sender.hasReferences { viewerNeedsKeyframe(peer) }
        case .ended(let end): viewerEnded(peer, EndReason(ofViewer: end))
        case .frameSent, .skipFrameDue, .frame, .audio: break
        }
    }

    private func viewerNeedsKeyframe(_ peer: ViewerPeer) {
        let encoding = peer.frames.encodingSelector.target
        let isFirst = peer.needsKeyframe || peer.lacksFirstFrame
        if peer.rewind() { return }
        let now = MonotonicClock.now
        guard peer.allows(.key, isShared: viewers.isShared(encoding), now: now) else {
            return peer.sender.postponeKeyframe(now: now)
        }
        source.requestKeyframe(encoding, isFirst: isFirst)
        expectReplacement(peer)
    }

    private func viewerNeedsRecovery(_ peer: ViewerPeer, from number: UInt32) {
        // A viewer that changes to another encoding gets a key frame of that encoding.
        let encoding = peer.frames.encodingSelector.encoding
        guard encoding == peer.frames.encodingSelector.target else { return viewerNeedsKeyframe(peer) }
        guard peer.allows(.recovery, isShared: viewers.isShared(encoding), now: MonotonicClock.now) else { return }
        source.requestRecovery(encoding, from: number)
        expectReplacement(peer)
    }

    /// What waits for this viewer does not hold up the encoder any more.
    private func expectReplacement(_ peer: ViewerPeer) {
        peer.frames.replacement.noteRequested()
        updateEncoders()
    }

    func viewerEnded(_ peer: ViewerPeer, _ reason: EndReason) {
        guard viewers.remove(peer, now: MonotonicClock.now) else { return }
        // A viewer that is told of its removal may leave before its session is closed.
        let reason = peer.isRemoved ? EndReason(.removed, "you removed them") : peer.isMoved ? reason.ofMoved : reason
        updateEncoders()
        expectViewers()
        delegate?.handle(.ended(peer.id, audience))
        let mayBeGone = settings.tellsWhoLeaves && !peer.isMoved && !peer.description.isPublication
        if mayBeGone, !viewers.all.contains(where: { $0.viewer.fingerprint == peer.viewer.fingerprint }) {
            delegate?.handle(.left(peer.viewer))
        }
        emit(.viewerLeft(peer.description, reason: reason, viewers: viewers.audience))
    }
}

extension EndReason {
    fileprivate init(ofViewer end: PeerConnection.End) {
        switch end {
        case .closed: self.init(.viewerLeft, "the viewer left")
        case .noRoute(let report): self.init(report, other: "the viewer")
        case .failed(let reason): self = reason
        case .silent(isConsenting: true):
            self.init(.connectionLost, "the viewer answers checks, but has sent no RTCP for 30 s")
        case .silent(isConsenting: false): self.init(.connectionLost, "nothing came from the viewer for 30 s")
        case .withoutRTCP:
            self.init(
                .connectionLost, "the viewer answers checks, but sends no RTCP on the port of RTP, as WebRTC requires",
                remedy: "Its player has to send receiver reports (RFC 8834 section 4.1), with rtcp-mux.")
        case .crashed:
            self.init(.connectionLost, "the viewer has gone: it hung up, and nothing comes from it any more")
        }
    }

    /// The reason of a viewer that was sent to a relay: it leaves because it watches there.
    fileprivate var ofMoved: EndReason { code == .viewerLeft && self != .replaced ? .moved : self }
}
