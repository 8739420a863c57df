package import Admission
package import Identifiers
import LinuxRuntime
import MediaCore
package import MediaEngine
import PeerConnection
import PeerEngine

/// The viewers as the host's user sees them, and their removal.
extension Broadcast {
    /// A viewer was sent to a relay, or is not any more. It tells why the viewer leaves.
    package func noteMoved(_ id: SessionID, _ isMoved: Bool) { viewers[id]?.isMoved = isMoved }

    /// The number of a viewer who watches at a relay.
    package func takeNumber() -> Int { viewers.takeNumber() }

    /// The sessions in the order in which they were opened.
    package var watchingViewers: [ViewerSessionInfo] {
        let now = MonotonicClock.now
        return viewers.numbered.map { number, peer in
            ViewerSessionInfo(
                number: number, id: peer.id, description: peer.description, fingerprint: peer.viewer.fingerprint,
                identity: peer.viewer.identity, connectedFor: peer.connection.liveness.connected.map { now - $0 },
                isInterrupted: peer.connection.liveness.isInterrupted, path: peer.pathSummary,
                bitrate: peer.sender.sentBitrate(now: now))
        }
    }

    /// The sessions, in no order.
    package var watching: [(id: SessionID, viewer: Viewer, isConnected: Bool)] {
        viewers.all.map { ($0.id, $0.viewer, $0.isConnected) }
    }

    /// The flows to the viewers that this host serves itself and can send elsewhere, which those with the fixed token
    /// do not understand: one for each address, as those behind one address share a line there, too.
    package var viewerFlows: [SharedBottleneckDetector.Flow] {
        var flows: [String: SharedBottleneckDetector.Flow] = [:]
        for peer in viewers.all
        where peer.isReceiving && !peer.description.isPublication && peer.viewer.identity != nil {
            let flow = SharedBottleneckDetector.Flow(
                estimate: peer.sender.estimate, isLimited: peer.sender.limit != .nothing)
            if let known = flows[peer.viewer.address], known.estimate <= flow.estimate { continue }
            flows[peer.viewer.address] = flow
        }
        return Array(flows.values)
    }

    /// The viewer of a session, as signalling admitted it; nil if there is no such session.
    package func viewer(of id: SessionID) -> (Viewer, ViewerDescription)? {
        viewers[id].map { ($0.viewer, $0.description) }
    }

    /// Marks all sessions of a viewer as removed: whoever ends them, removal is reported as the reason.
    /// - Returns: how many there are.
    package func markRemoved(_ viewer: Viewer) -> Int {
        let sessions = sessions(of: viewer)
        for session in sessions { session.isRemoved = true }
        return sessions.count
    }

    /// Ends all sessions of a viewer.
    package func removeSessions(of viewer: Viewer) {
        for session in sessions(of: viewer) {
            session.isRemoved = true
            close(session.id)
        }
    }

    func sessions(of viewer: Viewer) -> [ViewerPeer] {
        viewers.all.filter { $0.viewer.identity == viewer.identity && $0.viewer.fingerprint == viewer.fingerprint }
    }
}
