import Admission
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import Service
import Signaling
import Synchronization
import Viewer

/// Runs the streams of a relay as their ``StreamTable`` decides: with the publishers' sessions, the sessions with other
/// relays, and the cluster. Safe from any thread.
final class RelayStreams: Sendable {
    typealias Table = StreamTable<RelayedBroadcast>

    struct State {
        var table: Table
        /// The table's decisions that are not carried out yet, in their order.
        var actions: [Table.Action] = []
        /// A thread carries the actions out.
        var isPerforming = false
        /// Nil before the relay has joined its cluster, and after it has left.
        var member: ClusterMember?
        /// The sessions with other relays by the numbers of their attempts.
        var upstreams: [Int: ViewerSession] = [:]
        var timers: [BroadcastID: Task<Void, Never>] = [:]
        /// The sessions with other relays, and the ends of streams.
        var tasks: [Int: Task<Void, Never>] = [:]
        var taskCount = 0
        /// Why the relay stops; nil while it runs.
        var stopReason: String?
    }

    let environment: RelayedBroadcast.Environment
    let directory: RelayDirectory
    let questions: ViewerQuestions
    /// Of each broadcast, without its identifier and secret.
    let settings: ServedBroadcastConfiguration
    private let hasCluster: Bool
    let emit: @Sendable (RelayEvent) -> Void
    let state: Mutex<State>

    init(
        _ environment: RelayedBroadcast.Environment, _ directory: RelayDirectory,
        emit: @escaping @Sendable (RelayEvent) -> Void
    ) {
        let configuration = environment.configuration
        self.environment = environment
        self.directory = directory
        questions = ViewerQuestions(environment.session)
        settings = configuration.viewers
        hasCluster = configuration.cluster != nil
        self.emit = emit
        let capacity = configuration.service.service.sessionCapacity
        state = Mutex(State(table: Table(capacity: capacity, policy: configuration.streams)))
    }

    var service: ServiceSession { environment.session }

    var member: ClusterMember? { state.withLock { $0.member } }

    subscript(id: BroadcastID) -> Table.Stream? { state.withLock { $0.table[id] } }

    /// The broadcast of a publisher's session.
    func broadcast(of session: SessionID) -> RelayedBroadcast? { state.withLock { $0.table[session]?.media } }

    /// Those that are published here, and then those from other relays.
    var broadcasts: [RelayedBroadcast] {
        state.withLock { $0.table.published.map(\.media) + $0.table.fetched.map(\.media) }
    }

    var isDraining: Bool { state.withLock { $0.table.isDraining } }

    var isEmpty: Bool { state.withLock { $0.table.streams.isEmpty } }

    var stopReason: String? { state.withLock { $0.stopReason } }

    // MARK: Events and actions

    func handle(_ event: Table.Event) {
        state.withLock { $0.actions += $0.table.handle(event, now: MonotonicClock.now) }
        performActions()
    }

    /// Carries out what is left, in its order, unless another thread does.
    private func performActions() {
        guard state.withLock({ $0.isPerforming.setOnce() }) else { return }
        while let action = state.withLock({ state -> Table.Action? in
            guard state.actions.isEmpty else { return state.actions.removeFirst() }
            state.isPerforming = false
            return nil
        }) {
            perform(action)
        }
    }

    private func perform(_ action: Table.Action) {
        switch action {
        case .setActive(let broadcast, let isActive): broadcast.setActive(isActive)
        case .publish(let id, let broadcast, let session, let publisher): publish(id, broadcast, session, publisher)
        case .connect(let id, let broadcast, let attempt): connect(id, broadcast, attempt)
        case .leave(let attempt, let reason): state.withLock { $0.upstreams[attempt] }?.leave(reason)
        case .announce(let id, let broadcast, let relay, let viewers): announce(id, broadcast, relay, viewers)
        case .withdraw(let id): member?.withdraw(id)
        case .reportLost(let id, let relay, let reason): emit(.cluster(.lost(id, from: relay, reason)))
        case .reportReleased(let id):
            endTimer(of: id)
            emit(.cluster(.released(id)))
        case .close(let id, let broadcast):
            endTimer(of: id)
            run { [emit] in
                await withCheckedContinuation { done in broadcast.close { done.resume() } }
                emit(.cluster(.released(id)))
            }
        case .countViewers(let id): countViewers(of: id)
        case .look(let id, let time):
            let timer = Task { [weak self] in
                let delay = time - MonotonicClock.now
                if delay > .zero { try? await Task.sleep(for: .nanoseconds(delay.nanoseconds)) }
                if !Task.isCancelled { self?.look(id) }
            }
            state.withLock { $0.timers.updateValue(timer, forKey: id) }?.cancel()
        }
    }

    private func endTimer(of id: BroadcastID) { state.withLock { $0.timers.removeValue(forKey: id) }?.cancel() }

    /// Runs a task that the end of the relay waits for.
    func run(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.taskCount += 1
            let number = state.taskCount
            state.tasks[number] = Task { [weak self] in
                await body()
                self?.state.withLock { $0.tasks[number] = nil }
            }
        }
    }

    // MARK: Publishers

    /// Takes a broadcast in: a new one, or one that its publisher goes on with here.
    /// - Returns: the sink of the publisher's session.
    func add(_ session: SessionID, _ publisher: Publisher) -> any EncodedMediaSink {
        // Only the publisher itself can go on with its broadcast.
        let known = publisher.resumes.flatMap { member?.resumable($0, by: publisher.fingerprint) }
        let link = known?.parsedLink
        var configuration = settings
        configuration.isEncryptedByHost = publisher.isEncrypted
        configuration.name = (publisher.application?.name).map { UntrustedText.clean($0, fallback: "share") }
        let sink = state.withLock { state in
            let id = state.table.broadcast(continuedBy: publisher, isOwner: link != nil)
            if let id, id == link?.id, let link {
                (configuration.id, configuration.secret, configuration.passKey) = (
                    id, link.secret, known?.parsedPassKey
                )
            } else {
                (configuration.id, configuration.secret) = (.random(), Link.randomSecret())
                configuration.passKey = hasCluster ? randomBytes(AdmissionPass.keyLength) : nil
            }
            let broadcast = id.flatMap { state.table[$0]?.media } ?? RelayedBroadcast(configuration, self)
            let opened = Table.Event.opened(session, publisher, broadcast.id, broadcast)
            state.actions += state.table.handle(opened, now: MonotonicClock.now)
            return SharedSink(broadcast, closesBroadcast: true)
        }
        performActions()
        return sink
    }

    /// Reports an event of the service.
    func report(_ event: ServiceSessionEvent) {
        switch event {
        case .closed(let session, _, _):
            questions.end(of: session)
            note(directory.remove(session))
            handle(.closed(session))
        case .interrupted(let session): handle(.interrupted(session))
        case .resumed(let session): handle(.resumed(session))
        default: break
        }
        emit(.service(event))
        if case .connected(let session, _) = event { handle(.connected(session)) }
    }

    private func publish(
        _ id: BroadcastID, _ broadcast: RelayedBroadcast, _ session: SessionID, _ publisher: Publisher
    ) {
        guard let link = broadcast.link else { return }
        // First, as the publisher has it listed as soon as it knows the link.
        if let member {
            var announced = ClusterBroadcast(
                link: link, path: [member.name], name: broadcast.displayName,
                publisherDecides: publisher.decidesOnViewers, passKey: broadcast.passKey)
            announced.isEncrypted = publisher.isEncrypted
            announced.publisher = publisher.pairing == nil ? nil : Base64URL.encode(publisher.fingerprint)
            member.announce(id, announced)
        }
        service.send(url: link.text, to: session)
        tellPublisher(ofViewersOf: broadcast)
        tellAlternates()
        emit(.live(session, publisher, link))
    }

    /// Ends the broadcast of a publisher. Another relay, whose broadcast this may be a copy of, has ended it itself.
    func end(_ id: BroadcastID, _ reason: String) {
        if let session = self[id]?.session { service.finish(session, reason: reason) }
    }

    /// Tells the publisher, or the relay that a broadcast is fetched from, what the slowest viewer can get; nil: as
    /// much as the others.
    func report(slowest: Bitrate?, of id: BroadcastID) {
        guard let stream = self[id] else { return }
        if let session = stream.session {
            service.send(.slowestBitrate(slowest), to: session)
        } else if stream.state != .searching, let relay = stream.upstream?.attempt?.relay.node.name {
            member?.report(slowest: slowest, of: id, to: relay)
        }
    }

    /// Tells the other relays what has changed in the directory.
    func note(_ changes: [RelayDirectory.Change]) {
        for (id, entry) in changes { member?.update(id) { $0.listing = entry } }
    }

    // MARK: Viewers

    static let drainingText = "the relay is about to stop"

    /// Decides about a viewer.
    func decide(_ knock: Knock, about id: BroadcastID) async -> KnockDecision {
        let (stream, member, isDraining) = state.withLock { ($0.table[id], $0.member, $0.table.isDraining) }
        // Viewers of a relay that drains may still need its broadcasts elsewhere.
        // A native identity has signed with its certificate's key.
        if knock.identity.kind == .native, member?.isRelay(knock.identity.fingerprint) == true { return .accepted }
        guard !isDraining else { return .busy(Self.drainingText) }
        if let pass = knock.pass, !knock.wasRemoved { return pass == .ofPerson ? .accepted : .acceptedByRule }
        if case .publisher(let session, let publisher) = stream?.source {
            guard publisher.decidesOnViewers else { return await environment.decide(knock) }
            return await questions.ask(knock, of: session)
        }
        handle(.knocked(id))
        guard let source = member?.sources(of: id).first?.broadcast else { return .unanswered }
        guard source.publisherDecides, let first = source.path.first else { return await environment.decide(knock) }
        return await member?.ask(knock, about: id, at: first) ?? .unanswered
    }

    /// Asks the publisher for another relay.
    func ask(_ knock: Knock, about id: BroadcastID) async -> KnockDecision {
        guard let session = self[id]?.session else { return .unanswered }
        return await questions.ask(knock, of: session)
    }

    /// Takes note of an event of a broadcast's viewers.
    func handle(_ event: BroadcastEvent, of id: BroadcastID) {
        if let session = self[id]?.session { emit(.broadcast(session, event)) }
        if let viewers = event.viewers { handle(.viewers(id, viewers)) }
    }

    /// Tells the publisher how many watch at all relays, and the other relays how many watch here.
    func countViewers(of id: BroadcastID) {
        let (found, member) = state.withLock { ($0.table[id], $0.member) }
        guard let stream = found else { return }
        let local = max(0, stream.viewers - (member?.copies(of: id) ?? 0))
        guard let session = stream.session else {
            member?.update(id) { $0.viewers = local }
            return
        }
        let viewers = local + (member?.viewers(of: id) ?? 0)
        directory.note(viewers: viewers, of: session)
        stream.media.audience.pass(viewers, interval: .betweenAudienceReports(viewers: viewers))
    }

    /// Sends what `countViewers` has found.
    func report(viewers: Int, of id: BroadcastID) {
        let (found, member) = state.withLock { ($0.table[id]?.session, $0.member) }
        guard let session = found else { return }
        service.send(ServiceInfo(viewers: viewers), to: session)
        let others = member?.viewers(of: id) ?? 0
        member?.update(id) { broadcast in
            broadcast.viewers = max(0, viewers - others)
            broadcast.listing?.viewers = viewers
        }
    }

    // MARK: The end

    /// Takes no further publisher and viewer, and has all of them go on at other relays, if there are some.
    func drain() {
        handle(.drain)
        service.refuseBroadcasts()
        member?.drain()
        guard let member, !member.others.isEmpty else { return }
        service.send(.reconnect)
        for broadcast in broadcasts { broadcast.send(.reconnect(nil)) }
    }

    /// Ends the broadcasts of other relays. Those that are published here end with their sessions.
    /// - Parameter reason: for the viewers.
    func stop(_ reason: String) async {
        let member = state.withLock { state in
            state.stopReason = reason
            return state.member
        }
        member?.stop()
        handle(.stop)
        while true {
            let (task, isPerforming) = state.withLock { ($0.tasks.values.first, $0.isPerforming) }
            guard task != nil || isPerforming else { break }
            // Another thread may be about to begin a task.
            if let task { await task.value } else { await Task.yield() }
        }
        let timers = state.withLock { state in
            defer { (state.member, state.timers) = (nil, [:]) }
            return state.timers.values
        }
        for timer in timers { timer.cancel() }
    }
}
