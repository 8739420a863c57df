import Admission
import Identifiers
import LinuxRuntime
import PeerConnection
import Service
import Signaling
import Synchronization

/// The viewers of encrypted broadcasts, of which the publisher and the relays of a cluster tell each other.
extension RelayStreams {
    /// A viewer has opened a session here, or its last one is over.
    func note(_ viewer: Viewer, isHere: Bool, of id: BroadcastID) {
        guard let stream = self[id], stream.media.configuration.isEncryptedByHost else { return }
        let fingerprint = viewer.fingerprint
        if stream.session != nil {
            handle(isHere ? .joined(fingerprint, at: "") : .left(fingerprint, at: ""), of: stream.media)
        } else if let (member, first) = publisherRelay(of: stream) {
            member.tell(isHere ? .joined(fingerprint) : .left(fingerprint), of: id, to: first)
        }
    }

    // MARK: A broadcast that is published here

    /// Takes note of who watches where.
    func handle(_ input: ViewerRelays.Input, of broadcast: RelayedBroadcast) {
        guard broadcast.configuration.isEncryptedByHost else { return }
        broadcast.viewerRelays.handle(input, of: broadcast) { $0.streams.carryOut($1, of: $0) }
    }

    private func carryOut(_ action: ViewerRelays.Action, of broadcast: RelayedBroadcast) {
        guard let session = self[broadcast.id]?.session else { return }
        switch action {
        case .joined(let viewer): service.send(.viewerJoined(viewer), to: session)
        case .left(let viewer): service.send(.viewerLeft(viewer), to: session)
        case .ask(let relay): member?.tell(.nameViewers, of: broadcast.id, to: relay)
        case .pass(let keys, let relay): member?.tell(.keys(keys), of: broadcast.id, to: relay)
        }
    }

    /// Another session of the publisher has the broadcast, which may have been fetched here before.
    func tellPublisher(ofViewersOf broadcast: RelayedBroadcast) {
        handle(.published, of: broadcast)
        noteCopies(of: broadcast)
        broadcast.withViewers { [weak self, broadcast] viewers in
            for viewer in viewers { self?.handle(.joined(viewer, at: ""), of: broadcast) }
        }
    }

    func noteCopies(of broadcast: RelayedBroadcast) {
        if let member { handle(.copies(member.copyPaths(of: broadcast.id)), of: broadcast) }
    }

    /// Messages of another relay may have been lost; nil: of all.
    func noteMissedMessages(of relay: String?) {
        for stream in state.withLock({ Array($0.table.streams.values) }) where stream.session != nil {
            handle(.missed(relay), of: stream.media)
        }
    }

    // MARK: A broadcast that is fetched

    /// The relay that its publisher sends to.
    private func publisherRelay(of stream: Table.Stream) -> (ClusterMember, String)? {
        guard let member, let first = stream.publisherRelay(member.upstreams(of: stream.media.id)) else { return nil }
        return (member, first)
    }

    /// Names all viewers here to the relay that a broadcast is published to.
    private func nameViewers(of stream: Table.Stream) {
        let broadcast = stream.media
        guard broadcast.configuration.isEncryptedByHost, let (member, first) = publisherRelay(of: stream),
            broadcast.mayNameViewers(now: MonotonicClock.now)
        else { return }
        broadcast.withViewers { [id = broadcast.id] in member.tell(viewers: $0, of: id, to: first) }
    }

    /// Tells the others by which path a broadcast comes here, as that of its source may have changed.
    func followPath(of id: BroadcastID) {
        guard let member, let stream = self[id], stream.state == .live,
            let path = stream.source(among: member.upstreams(of: id))?.broadcast.path
        else { return }
        member.update(id) { $0.path = path + [member.name] }
    }

    // MARK: The cluster

    /// Keys and removals are taken of the relay that the publisher sends to, as the source of the broadcast says.
    func handle(_ notice: ClusterMember.ViewerNotice, of id: BroadcastID, from relay: String) {
        guard let stream = self[id] else { return }
        if stream.session != nil {
            switch notice {
            case .joined(let viewer): handle(.joined(viewer, at: relay), of: stream.media)
            case .left(let viewer): handle(.left(viewer, at: relay), of: stream.media)
            case .viewers(let viewers, let isFirst):
                handle(.named(viewers, at: relay, isFirst: isFirst), of: stream.media)
            case .keys, .messages, .removed, .nameViewers: break
            }
        } else if publisherRelay(of: stream)?.1 == relay {
            switch notice {
            case .keys(let keys): stream.media.pass(keys)
            case .messages(let messages): stream.media.pass(messages)
            case .removed(let viewer): run { _ = await stream.media.remove(viewer: viewer) }
            case .nameViewers: nameViewers(of: stream)
            case .joined, .left, .viewers: break
            }
        }
    }

    /// The connection to the others was made, maybe again.
    func clusterIsConnected() {
        member?.tick()
        noteMissedMessages(of: nil)
        for stream in state.withLock({ Array($0.table.streams.values) }) { nameViewers(of: stream) }
    }
}
