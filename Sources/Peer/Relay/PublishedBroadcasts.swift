import Admission
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import Service
import Signaling
import Synchronization

/// The broadcasts that are published to a relay, and what all of its broadcasts have in common: who may watch, and how
/// many do. Safe from any thread.
final class PublishedBroadcasts: Sendable {
    /// A broadcast that is taken in.
    private struct Entry: Sendable {
        var broadcast: RelayedBroadcast
        var publisher: Publisher
        var isLive = false
        /// Those of this relay, and other relays.
        var viewers = 0
        /// The publisher and the other relays learn how many watch.
        var audience: Throttle<Int>
    }

    /// Nil after the end.
    let environment = Monitor<RelayedBroadcast.Environment?>(nil)
    let isDraining = Monitor(false)
    let cluster = ClusterAccess()
    private let entries = Mutex<[SessionID: Entry]>([:])
    /// Without identifier and secret.
    private let settings: BroadcastConfiguration
    private let hasCluster: Bool
    private let emit: @Sendable (RelayEvent) -> Void

    init(_ settings: BroadcastConfiguration, hasCluster: Bool, emit: @escaping @Sendable (RelayEvent) -> Void) {
        self.settings = settings
        self.hasCluster = hasCluster
        self.emit = emit
    }

    // MARK: Publishers

    /// Takes a broadcast in: a new one, or one that its publisher goes on with here.
    /// - Returns: the sink of the publisher's session.
    func add(_ session: SessionID, _ publisher: Publisher) -> any EncodedMediaSink {
        let (broadcast, viewers) = takenOver(publisher) ?? resumed(publisher) ?? (new(publisher), 0)
        let id = broadcast.id
        let audience = Throttle<Int> { [weak self] viewers in
            self?.environment.with { $0 }?.session.send(ServiceInfo(viewers: viewers), to: session)
            self?.cluster.note(viewers: viewers, of: id)
        }
        entries.withLock {
            $0[session] = Entry(broadcast: broadcast, publisher: publisher, viewers: viewers, audience: audience)
        }
        return SharedSink(broadcast, closesSink: true) { [weak self] in
            self?.broadcast(of: session) === broadcast
        }
    }

    /// The broadcast of a session that this one replaces.
    private func takenOver(_ publisher: Publisher) -> (RelayedBroadcast, viewers: Int)? {
        guard let old = publisher.replaces else { return nil }
        return entries.withLock { $0.removeValue(forKey: old) }.map { ($0.broadcast, $0.viewers) }
    }

    private func new(_ publisher: Publisher) -> RelayedBroadcast {
        var own = settings
        (own.id, own.secret) = (.random(), Link.randomSecret())
        if hasCluster { own.passKey = randomKey() }
        return make(own, name(of: publisher))
    }

    /// Only the publisher itself can go on with its broadcast, and only while that is not published to this relay.
    private func resumed(_ publisher: Publisher) -> (RelayedBroadcast, viewers: Int)? {
        guard let id = publisher.resumes, session(of: id) == nil,
            let known = cluster.member?.resumable(id, by: publisher.fingerprint), let link = known.parsedLink
        else { return nil }
        if let copy = cluster.broadcasts?.publish(id) { return copy }
        var own = settings
        (own.id, own.secret, own.passKey) = (id, link.secret, known.parsedPassKey)
        return (make(own, name(of: publisher)), 0)
    }

    private func name(of publisher: Publisher) -> String? {
        (publisher.application?.name).map { UntrustedText.clean($0, fallback: "share") }
    }

    func make(_ configuration: BroadcastConfiguration, _ name: String?) -> RelayedBroadcast {
        let id = configuration.id
        var configuration = configuration
        configuration.name = name
        return RelayedBroadcast(
            name: name, configuration, environment.with { $0 },
            decide: { [weak self] in await self?.decide($0, about: id) ?? .unanswered },
            emit: { [weak self] in self?.report($0, of: id) },
            reportSlowest: { [weak self] in self?.report(slowest: $0, of: id) },
            exceeded: { [weak self] in self?.end(id, "it sent more than twice the relay's limit for 10 s") })
    }

    /// Another relay, whose broadcast this is a copy of, has ended it itself.
    private func end(_ id: BroadcastID, _ reason: String) {
        guard let service = environment.with({ $0 })?.session, let session = session(of: id) else { return }
        service.finish(session, reason: reason)
    }

    /// Tells the publisher, or the relay whose broadcast this is a copy of.
    private func report(slowest: Bitrate?, of id: BroadcastID) {
        if let session = session(of: id) {
            environment.with { $0 }?.session.send(.slowestBitrate(slowest), to: session)
        } else {
            cluster.broadcasts?.report(slowest: slowest, of: id)
        }
    }

    /// Another relay, which fetches a broadcast here, tells what its slowest viewer can get.
    func note(slowest: Bitrate?, of id: BroadcastID, at relay: String) {
        broadcast(id)?.note(slowest: slowest, at: relay)
    }

    /// Published to this relay, or about to be.
    func published(_ id: BroadcastID) -> RelayedBroadcast? { session(of: id).flatMap { broadcast(of: $0) } }

    /// Published to this relay, or fetched by it.
    private func broadcast(_ id: BroadcastID) -> RelayedBroadcast? { published(id) ?? cluster.broadcasts?.copied(id) }

    /// What another relay has of a broadcast has changed.
    func noteChange(of id: BroadcastID) {
        noteAudience(of: id)
        guard let member = cluster.member else { return }
        cluster.broadcasts?.noteChange(of: id)
        broadcast(id)?.keepReports(of: member.fetchers(of: id))
    }

    /// Media of a publisher comes: its broadcast can be watched.
    func connected(_ session: SessionID) {
        let live = entries.withLock { entries -> Entry? in
            guard let found = entries[session], !found.isLive else { return nil }
            entries[session]?.isLive = true
            return found
        }
        guard let live, let link = live.broadcast.link, let service = environment.with({ $0 })?.session else { return }
        live.broadcast.setActive(true)
        // First, as the publisher has it listed as soon as it knows the link.
        cluster.announce(live.broadcast, of: live.publisher)
        service.send(url: link.text, to: session)
        noteAudience(of: link.id)
        tellAlternates()
        emit(.live(session, live.publisher, link))
    }

    func closed(_ session: SessionID) {
        if let environment = environment.with({ $0 }) {
            environment.questions.end(of: session)
            note(environment.directory.remove(session))
        }
        guard let ended = entries.withLock({ $0.removeValue(forKey: session) }) else { return }
        // It may be published by another session already.
        if self.session(of: ended.broadcast.id) == nil { cluster.member?.withdraw(ended.broadcast.id) }
    }

    /// Tells the other relays what has changed in the directory.
    func note(_ changes: [RelayDirectory.Change]) {
        for (id, entry) in changes { cluster.member?.update(id) { $0.listing = entry } }
    }

    func broadcast(of session: SessionID) -> RelayedBroadcast? { entries.withLock { $0[session]?.broadcast } }

    /// The session of the publisher; nil if it publishes to another relay.
    private func session(of id: BroadcastID) -> SessionID? {
        entries.withLock { $0.first { $0.value.broadcast.id == id }?.key }
    }

    var isEmpty: Bool { entries.withLock { $0.isEmpty } }

    /// All, in the order of their sessions.
    var all: [(session: SessionID, broadcast: RelayedBroadcast)] {
        entries.withLock { $0.map { ($0.key, $0.value.broadcast) } }.sorted { $0.0.text < $1.0.text }
    }

    // MARK: Viewers

    static let drainingText = "the relay is about to stop"

    private func decide(_ knock: Knock, about id: BroadcastID) async -> KnockDecision {
        // Viewers of a relay that drains may still need its broadcasts elsewhere.
        // A native identity has signed with its certificate's key.
        if knock.identity.kind == .native, cluster.member?.isRelay(knock.identity.fingerprint) == true {
            return .accepted
        }
        guard let environment = environment.with({ $0 }) else { return .unanswered }
        guard !isDraining.with({ $0 }) else { return .busy(Self.drainingText) }
        if let pass = knock.pass, !knock.wasRemoved { return pass == .ofPerson ? .accepted : .acceptedByRule }
        if let published = entries.withLock({ $0.first { $0.value.broadcast.id == id } }) {
            guard published.value.publisher.decidesOnViewers else { return await environment.decide(knock) }
            return await environment.questions.ask(knock, of: published.key)
        }
        cluster.broadcasts?.noteKnock(of: id)
        guard let source = cluster.member?.sources(of: id).first?.broadcast else { return .unanswered }
        guard source.publisherDecides, let first = source.path.first else { return await environment.decide(knock) }
        return await cluster.member?.ask(knock, about: id, at: first) ?? .unanswered
    }

    /// Asks the publisher for another relay.
    func ask(_ knock: Knock, about id: BroadcastID) async -> KnockDecision {
        guard let environment = environment.with({ $0 }), let session = session(of: id) else { return .unanswered }
        return await environment.questions.ask(knock, of: session)
    }

    private func report(_ event: BroadcastEvent, of id: BroadcastID) {
        let viewers = event.viewers
        guard let session = session(of: id) else {
            if let viewers { cluster.broadcasts?.note(viewers: viewers, of: id) }
            return
        }
        emit(.broadcast(session, event))
        guard let viewers else { return }
        entries.withLock { $0[session]?.viewers = viewers }
        noteAudience(of: id)
    }

    /// Counts the viewers at all relays.
    func noteAudience(of id: BroadcastID) {
        guard let session = session(of: id), let entry = entries.withLock({ $0[session] }) else { return }
        let viewers = cluster.audience(entry.viewers, of: id)
        environment.with { $0 }?.directory.note(viewers: viewers, of: session)
        entry.audience.pass(viewers, interval: .betweenAudienceReports(viewers: viewers))
    }

    // MARK: Other relays

    /// Tells publishers and viewers of the other relays that they can go on at.
    func tellAlternates() {
        guard let member = cluster.member, let service = environment.with({ $0 })?.session else { return }
        service.send(.alternates(member.serviceLinks(service.id)))
        for broadcast in all.map(\.broadcast) + (cluster.broadcasts?.live ?? []) {
            if let link = broadcast.link { broadcast.send(alternates: member.links(of: link)) }
        }
    }

    /// Has all publishers and viewers go on at other relays.
    /// - Returns: whether there is one.
    func moveAll() -> Bool {
        guard let member = cluster.member, !member.others.isEmpty else { return false }
        environment.with { $0 }?.session.send(.reconnect)
        for broadcast in all.map(\.broadcast) + (cluster.broadcasts?.live ?? []) { broadcast.send(.reconnect(nil)) }
        return true
    }
}

/// A key for passes, 32 bytes.
private func randomKey() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<AdmissionPass.keyLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}
