import Admission
import EventLoop
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import Service
import Signaling
import Synchronization
import Viewer

/// The sessions with other relays, and what those tell.
extension RelayStreams: BroadcastFetcher {
    // MARK: Finding

    func knows(_ id: BroadcastID) -> Bool { fetched(id) != nil || told(id) != nil }

    func secret(of id: BroadcastID) -> [UInt8]? { fetched(id)?.secret ?? told(id)?.parsedLink?.secret }

    func passKey(of id: BroadcastID) -> [UInt8]? { fetched(id)?.passKey ?? told(id)?.parsedPassKey }

    private func fetched(_ id: BroadcastID) -> RelayedBroadcast? {
        self[id].flatMap { $0.session == nil ? $0.media : nil }
    }

    private func told(_ id: BroadcastID) -> ClusterBroadcast? { member?.sources(of: id).first?.broadcast }

    /// A broadcast is fetched once, for all who ask for it.
    func fetch(_ id: BroadcastID) async -> Bool {
        if self[id] == nil { begin(id) }
        let deadline = MonotonicClock.now + Upstream.fetchTime
        // Its publisher may be about to send it here.
        while MonotonicClock.now < deadline, let broadcast = self[id]?.media {
            if broadcast.link != nil { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    private func begin(_ id: BroadcastID) {
        guard state.withLock({ $0.table.canFetch(id, now: MonotonicClock.now) }), let member,
            let source = told(id), let link = source.parsedLink
        else { return }
        var configuration = settings
        (configuration.id, configuration.secret, configuration.passKey) = (id, link.secret, source.parsedPassKey)
        configuration.isEncryptedByHost = source.isEncrypted
        configuration.name = source.name.isEmpty ? nil : source.name
        handle(.wanted(id, member.upstreams(of: id), RelayedBroadcast(configuration, self)))
    }

    func look(_ id: BroadcastID) { if let member { handle(.look(id, member.upstreams(of: id))) } }

    // MARK: Sessions

    /// Receives a broadcast from another relay, until that fails.
    func connect(_ id: BroadcastID, _ broadcast: RelayedBroadcast, _ attempt: Upstream.Attempt) {
        guard let member, let link = attempt.relay.link else { return }
        let number = attempt.number
        var resources = ViewerSession.SharedResources(
            loop: environment.session.loop, localAddress: nil, socket: environment.session.socket,
            isOneOfMany: false, followsAlternates: false)
        resources.permits = Self.permits(member.own)
        resources.onReturn = { broadcast.send(.returnToHost) }
        let sink = state.withLock { state in
            state.table.isCurrent(id, attempt: number) ? SharedSink(broadcast) : nil
        }
        guard let sink else { return }
        let session = ViewerSession(
            link: link, identity: environment.identity, name: "relay \(member.name)", sink: sink,
            resources: resources,
            emit: { [weak self] event in self?.handle(event, of: id, broadcast, attempt) })
        // The attempt may be over already.
        let isWanted = state.withLock { state in
            let isCurrent = state.table.isCurrent(id, attempt: number)
            if isCurrent { state.upstreams[number] = session }
            return isCurrent
        }
        guard isWanted else { return }
        run { [weak self] in
            let reason = await session.run()
            guard let self else { return }
            state.withLock { $0.upstreams[number] = nil }
            handle(.ended(id, attempt: number, reason, member.upstreams(of: id)))
        }
    }

    private func handle(
        _ event: ViewerSessionEvent, of id: BroadcastID, _ broadcast: RelayedBroadcast, _ attempt: Upstream.Attempt
    ) {
        func change(_ place: Table.Stream.Interruptions, _ isInterrupted: Bool) {
            handle(.changed(id, attempt: attempt.number, place, isInterrupted: isInterrupted))
        }
        switch event {
        case .connected:
            if let member { handle(.received(id, attempt: attempt.number, member.upstreams(of: id))) }
        case .interrupted:
            change(.source, true)
            if let member, !member.knows(attempt.relay.node.name) { relayHasGone(attempt.relay.node) }
        case .resumed: change(.source, false)
        case .publisherInterrupted: change(.publisher, true)
        case .publisherResumed: change(.publisher, false)
        case .broadcastHeld(let hold): broadcast.tell(hold: hold)
        case .broadcastResumed: broadcast.tell(hold: nil)
        default: break
        }
    }

    /// Whether this relay may connect to an address because that was announced as another relay's: loopback and
    /// link-local only where this one is there itself, whoever writes on the bus.
    static func permits(_ own: ClusterNode) -> @Sendable (_ address: String) -> Bool {
        let policy = CandidatePolicy(CandidatePolicy.place(of: own.host, own: []))
        return { policy.permits(server: $0, own: []) }
    }

    /// Tells the others of a broadcast that comes from one of them.
    func announce(_ id: BroadcastID, _ broadcast: RelayedBroadcast, _ relay: UpstreamRelay, _ viewers: Int) {
        guard let member, let link = broadcast.link else { return }
        let known = relay.broadcast
        var announced = ClusterBroadcast(
            link: link, path: known.path + [member.name], name: known.name,
            publisherDecides: known.publisherDecides, passKey: known.parsedPassKey)
        (announced.viewers, announced.isEncrypted) = (viewers, known.isEncrypted)
        member.announce(id, announced)
        broadcast.send(alternates: member.links(of: link))
        emit(.cluster(.fetched(id, from: relay.node.name)))
    }

    // MARK: The cluster

    /// Joins the cluster.
    func join(_ own: ClusterNode, _ bus: any MessageBus) {
        let member = ClusterMember(
            own, bus: bus, directory: service.directory,
            handlers: .init(
                decide: { [weak self] in await self?.ask($1, about: $0) ?? .unanswered },
                // From a relay that fetches the broadcast here.
                noteSlowest: { [weak self] in self?[$1]?.media.note(slowest: $0, at: $2) },
                noteViewer: { [weak self] in self?.handle($0, of: $1, from: $2) },
                emit: { [weak self] in self?.handle($0) }))
        state.withLock { $0.member = member }
        member.start()
    }

    private func handle(_ event: ClusterMember.Event) {
        switch event {
        case .joined(let node):
            tellAlternates()
            emit(.cluster(.joined(node)))
        case .left(let node):
            relayHasGone(node)
            tellAlternates()
            emit(.cluster(.left(node)))
        case .changed: tellAlternates()
        case .nameIsTaken: emit(.cluster(.nameIsTaken))
        case .caughtUp(let node): noteMissedMessages(of: node)
        case .broadcastChanged(let id):
            guard let id = BroadcastID(id), let member, let stream = self[id] else { return }
            if stream.session != nil {
                countViewers(of: id)
                noteCopies(of: stream.media)
            } else {
                followPath(of: id)
            }
            look(id)
            stream.media.keepReports(of: member.fetchers(of: id))
        }
    }

    /// Each session goes on while no relay is heard: the connection to NATS may be what is broken.
    private func relayHasGone(_ node: ClusterNode) {
        if let member, member.relayCount > 0 { handle(.lost(relay: node.name)) }
    }

    /// Tells publishers and viewers of the other relays that they can go on at.
    func tellAlternates() {
        guard let member else { return }
        service.send(.alternates(member.serviceLinks(service.id)))
        for broadcast in broadcasts {
            if let link = broadcast.link { broadcast.send(alternates: member.links(of: link)) }
        }
    }
}
