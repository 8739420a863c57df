import Admission
import Identifiers
import Service
import Signaling
import Synchronization

/// The viewers of encrypted broadcasts, of which the publisher and the relays of a cluster tell each other.
extension RelayStreams {
    /// A viewer has opened a session here, or its last one is over.
    func note(_ viewer: Viewer, isHere: Bool, of id: BroadcastID) {
        guard let stream = self[id], stream.media.configuration.isEncryptedByHost else { return }
        if stream.session != nil {
            note(viewer.fingerprint, isWatching: isHere, at: "", of: stream)
        } else if let member, let first = member.sources(of: id).first?.broadcast.path.first {
            member.tell(isHere ? .joined(viewer.fingerprint) : .left(viewer.fingerprint), of: id, to: first)
        }
    }

    /// Tells the publisher of a viewer that watches at the first relay, or at none any more.
    /// - Parameter relay: the name of another one; empty: here.
    private func note(_ viewer: [UInt8], isWatching: Bool, at relay: String, of stream: Table.Stream) {
        let isNews = stream.media.viewerRelays.withLock { relays in
            isWatching ? relays.add(viewer, at: relay) : relays.remove(viewer, at: relay)
        }
        guard isNews, let session = stream.session else { return }
        service.send(isWatching ? .viewerJoined(viewer) : .viewerLeft(viewer), to: session)
    }

    func handle(_ notice: ClusterMember.ViewerNotice, of id: BroadcastID, from relay: String) {
        guard let stream = self[id] else { return }
        switch (notice, isPublishedHere: stream.session != nil) {
        case (.joined(let viewer), true): note(viewer, isWatching: true, at: relay, of: stream)
        case (.left(let viewer), true): note(viewer, isWatching: false, at: relay, of: stream)
        case (.keys(let keys), false): stream.media.pass(keys)
        case (.removed(let viewer), false): run { _ = await stream.media.remove(viewer: viewer) }
        default: break
        }
    }

    /// Another relay is gone. Whoever watched there alone comes again, or does not watch any more.
    func forgetViewers(of node: ClusterNode) {
        for stream in broadcasts.compactMap({ self[$0.id] }) {
            guard let session = stream.session else { continue }
            for viewer in stream.media.viewerRelays.withLock({ $0.remove(relay: node.name) }) {
                service.send(.viewerLeft(viewer), to: session)
            }
        }
    }
}
