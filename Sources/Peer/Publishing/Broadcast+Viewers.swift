package import Admission
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerEngine
import Transport

/// The viewers as the host's user sees them, and their removal.
extension Broadcast {
    /// The sessions in the order in which they were opened.
    package var watchingViewers: [WatchingViewer] {
        let now = MonotonicClock.now
        return viewers.numbered.map { number, peer in
            WatchingViewer(
                number: number, id: peer.id, description: peer.description, fingerprint: peer.viewer.fingerprint,
                identity: peer.viewer.identity, connectedFor: peer.liveness.connected.map { now - $0 },
                isInterrupted: peer.liveness.isInterrupted, path: peer.pathSummary,
                bitrate: peer.sentBitrate(now: now))
        }
    }

    /// The viewer of a session, as signalling admitted it; nil if there is no such session.
    package func viewer(of id: SessionID) -> (Viewer, ViewerDescription)? {
        viewers[id].map { ($0.viewer, $0.description) }
    }

    /// Ends all sessions of a viewer.
    /// - Returns: how many there were.
    package func removeSessions(of viewer: Viewer) -> Int {
        let sessions = viewers.all.filter {
            $0.viewer.identity == viewer.identity && $0.viewer.fingerprint == viewer.fingerprint
        }
        for session in sessions {
            session.close()
            viewerEnded(session, EndReason(.removed, "you removed them"))
        }
        return sessions.count
    }
}
