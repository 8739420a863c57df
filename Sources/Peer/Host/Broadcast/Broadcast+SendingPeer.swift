import Admission
import EventLoop
import ICETransport
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import RTPWire
import SessionDescription

/// Handles what the viewers' connections report.
extension Broadcast {
    func viewerIsConnected(_ peer: SendingPeer) {
        updateEncoders()
        updateReferences(MonotonicClock.now)
        viewerNeedsKeyframe(peer)
        tellLayers([peer])
        delegate?.broadcast(connected: peer.id)
        emit(.connected(peer.description, path: peer.pathSummary))
    }

    func viewerNeedsKeyframe(_ peer: SendingPeer) {
        let encoding = peer.frames.encodingSelector.target
        let isFirst = peer.needsKeyframe || peer.lacksFirstFrame
        if peer.rewind() { return }
        guard peer.allows(.key, isShared: viewers.isShared(encoding), now: MonotonicClock.now) else { return }
        source.requestKeyframe(encoding, isFirst: isFirst)
    }

    func viewerNeedsRecovery(_ peer: SendingPeer, from number: UInt32) {
        // A viewer that changes to another encoding gets a key frame of that encoding.
        let encoding = peer.frames.encodingSelector.encoding
        guard encoding == peer.frames.encodingSelector.target else { return viewerNeedsKeyframe(peer) }
        guard peer.allows(.recovery, isShared: viewers.isShared(encoding), now: MonotonicClock.now) else { return }
        source.requestRecovery(encoding, from: number)
    }

    func viewerIsInterrupted(_ peer: SendingPeer) {
        updateEncoders()
        emit(.interrupted(peer.description))
    }

    func viewerIsBack(_ peer: SendingPeer, after silence: MediaDuration) {
        updateEncoders()
        viewerNeedsKeyframe(peer)
        emit(.resumed(peer.description, path: peer.pathSummary, after: silence))
    }

    func viewerEnded(_ peer: SendingPeer, _ reason: EndReason) {
        guard viewers.remove(peer, now: MonotonicClock.now) else { return }
        // A viewer that is told of its removal may leave before its session is closed.
        let reason = peer.isRemoved ? EndReason(.removed, "you removed them") : peer.isMoved ? reason.ofMoved : reason
        updateEncoders()
        delegate?.broadcast(ended: peer.id, audience: audience)
        emit(.viewerLeft(peer.description, reason: reason, viewers: viewers.audience))
    }
}
