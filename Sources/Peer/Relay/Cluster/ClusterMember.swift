public import Admission
public import Identifiers
public import MediaCore
public import Signaling
import Synchronization

/// This relay as a member of a cluster: tells the others what it has, knows what they have, and asks them. Safe from
/// any thread.
///
/// Nothing is stored on the bus. While it is broken, relays serve what they have, and forget the others after
/// ``ClusterState/lease``.
public final class ClusterMember: Sendable {
    public enum Event: Sendable {
        case joined(ClusterNode)
        case left(ClusterNode)
        /// A relay takes nobody in any more, or says something else of itself that is new.
        case changed(ClusterNode)
        /// What other relays have of a broadcast has changed.
        case broadcastChanged(id: String)
        /// Another relay has the name of this one: neither sees the other.
        case nameIsTaken
        /// All that a relay has was asked for, because messages of it were missed.
        case caughtUp(String)
    }

    /// What this relay does for the others.
    public struct Handlers: Sendable {
        /// Decides about a viewer of a broadcast whose publisher sends to this relay. Ends when the task is cancelled.
        public var decide: @Sendable (BroadcastID, Knock) async -> KnockDecision
        /// Another relay, which fetches a broadcast from this one, tells what its slowest viewer can get; nil: as much
        /// as its others. The text is its name.
        public var noteSlowest: @Sendable (Bitrate?, BroadcastID, String) -> Void
        /// Another relay tells something of a broadcast's viewers. The text is its name.
        public var noteViewer: @Sendable (ViewerNotice, BroadcastID, String) -> Void
        public var emit: @Sendable (Event) -> Void

        public init(
            decide: @escaping @Sendable (BroadcastID, Knock) async -> KnockDecision,
            noteSlowest: @escaping @Sendable (Bitrate?, BroadcastID, String) -> Void = { _, _, _ in },
            noteViewer: @escaping @Sendable (ViewerNotice, BroadcastID, String) -> Void = { _, _, _ in },
            emit: @escaping @Sendable (Event) -> Void
        ) {
            self.decide = decide
            self.noteSlowest = noteSlowest
            self.noteViewer = noteViewer
            self.emit = emit
        }
    }

    struct State {
        var cluster: ClusterState
        var own: ClusterNode
        /// What this relay has.
        var broadcasts: [String: ClusterBroadcast] = [:]
        var change = 0
        /// The requests that wait for an answer.
        var requests: [Int: CheckedContinuation<[UInt8]?, Never>] = [:]
        var requestCount = 0
        /// The questions of other relays.
        var questions: [String: Task<Void, Never>] = [:]
        var isStopped = false

        /// - Returns: the message for the others; nil if it says nothing new.
        mutating func put(_ id: String, _ broadcast: ClusterBroadcast) -> ClusterMessage.Body? {
            var new = broadcast
            // The count of changes says nothing new.
            new.change = broadcasts[id]?.change ?? 0
            guard !isStopped, broadcasts[id] != new else { return nil }
            change += 1
            new.change = change
            broadcasts[id] = new
            return .put(id: id, new)
        }
    }

    let state: Mutex<State>
    let run = UInt64.random(in: 1 ... .max)
    /// Of this relay.
    public let name: String
    let bus: any MessageBus
    let directory: DirectoryTable?
    let handlers: Handlers
    let beat = Mutex<Task<Void, Never>?>(nil)

    /// Questions of other relays at a time.
    static let questionLimit = 256

    /// - Parameter directory: gets what the others list; nil: nobody reads it.
    public init(
        _ own: ClusterNode, bus: any MessageBus, directory: DirectoryTable?, handlers: Handlers
    ) {
        name = own.name
        state = Mutex(State(cluster: ClusterState(own: own.name, run: run), own: own))
        self.bus = bus
        self.directory = directory
        self.handlers = handlers
    }

    // MARK: Subjects

    static let prefix = "share.1"
    static let changes = prefix + ".changes"
    static func subject(_ what: String, of node: String) -> String { "\(prefix).\(what).\(node)" }
    var replies: String { "\(Self.prefix).reply.\(name).\(run)" }

    /// Joins the cluster.
    public func start() {
        bus.subscribe(to: Self.changes) { [weak self] in self?.receive($0) }
        bus.subscribe(to: replies + ".*") { [weak self] in self?.receiveReply($0) }
        bus.subscribe(to: Self.subject("snapshot", of: name)) { [weak self] in self?.sendSnapshot($0) }
        bus.subscribe(to: Self.subject("viewer", of: name)) { [weak self] in self?.receiveQuestion($0) }
        bus.subscribe(to: Self.subject("viewer-withdrawn", of: name)) { [weak self] in self?.withdrawQuestion($0) }
        bus.subscribe(to: Self.subject("slowest-bitrate", of: name)) { [weak self] in self?.receiveSlowest($0) }
        bus.subscribe(to: Self.subject(Self.viewerNotices, of: name)) { [weak self] in self?.receiveViewerNotice($0) }
        let task = Task { [weak self] in
            while let self, !Task.isCancelled {
                tick()
                try? await Task.sleep(for: ClusterState.interval)
            }
        }
        beat.withLock { $0 = task }
    }

    /// Tells the others that this relay is there, and forgets those that were silent. Called at once when the bus works
    /// again.
    public func tick() {
        sayAlive()
        perform(state.withLock { $0.cluster.expire(now: .now) })
    }

    func sayAlive() { send { $0.isStopped ? nil : .alive($0.own) } }

    /// Leaves the cluster.
    public func stop() {
        beat.withLock { $0 }?.cancel()
        let (requests, questions) = state.withLock { state in
            state.isStopped = true
            defer { (state.requests, state.questions) = ([:], [:]) }
            return (state.requests, state.questions)
        }
        send { _ in .leave }
        for request in requests.values { request.resume(returning: nil) }
        for question in questions.values { question.cancel() }
    }

    // MARK: What this relay has

    /// Tells the others of a broadcast, or of a change of it.
    public func announce(_ id: BroadcastID, _ broadcast: ClusterBroadcast) {
        send { $0.put(id.text, broadcast) }
    }

    /// Changes what the others know of a broadcast of this relay.
    public func update(_ id: BroadcastID, _ change: (inout ClusterBroadcast) -> Void) {
        send { state in
            guard var broadcast = state.broadcasts[id.text] else { return nil }
            change(&broadcast)
            return state.put(id.text, broadcast)
        }
    }

    public func withdraw(_ id: BroadcastID) {
        send { state in
            guard state.broadcasts.removeValue(forKey: id.text) != nil else { return nil }
            state.change += 1
            return .remove(id: id.text)
        }
    }

    /// Takes nobody in any more.
    public func drain() {
        state.withLock { $0.own.isDraining = true }
        tick()
    }

    // MARK: Requests

    /// Asks the relay to which a broadcast is published about a viewer.
    public func ask(_ knock: Knock, about id: BroadcastID, at node: String) async -> KnockDecision {
        let question = ViewerQuestionDocument(broadcast: id.text, viewer: ViewerDocument(knock))
        let answer = await request(
            Self.subject("viewer", of: node), ClusterJSON.encode(question), timeout: Knock.answerTime)
        if Task.isCancelled {
            bus.publish(Array(knock.id.text.utf8), to: Self.subject("viewer-withdrawn", of: node), reply: nil)
        }
        guard let answer, let document = ClusterJSON.decode(ViewerDecisionDocument.self, answer) else {
            return .unanswered
        }
        return document.value
    }

    /// - Returns: nil if nobody answers in time, or the task is cancelled.
    func request(_ subject: String, _ bytes: [UInt8], timeout: Duration) async -> [UInt8]? {
        let number = state.withLock { state in
            state.requestCount += 1
            return state.requestCount
        }
        let timer = Task { [weak self] in
            try? await Task.sleep(for: timeout)
            self?.answer(number, nil)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = state.withLock { state in
                    guard !state.isStopped, !Task.isCancelled else { return false }
                    state.requests[number] = continuation
                    return true
                }
                guard isWaiting else { return continuation.resume(returning: nil) }
                if !bus.publish(bytes, to: subject, reply: "\(replies).\(number)") { answer(number, nil) }
            }
        } onCancel: {
            answer(number, nil)
        }
    }

    func answer(_ number: Int, _ bytes: [UInt8]?) {
        state.withLock { $0.requests.removeValue(forKey: number) }?.resume(returning: bytes)
    }

    func receiveReply(_ message: BusMessage) {
        guard let number = message.subject.split(separator: ".").last.flatMap({ Int($0) }) else { return }
        answer(number, message.hasNoResponder ? nil : message.bytes)
    }

    // MARK: Messages

    /// Sends a message in the order of the changes.
    func send(_ make: (inout State) -> ClusterMessage.Body?) {
        state.withLock { state in
            guard let body = make(&state) else { return }
            let message = ClusterMessage(node: name, run: run, change: state.change, body: body)
            bus.publish(ClusterJSON.encode(message), to: Self.changes, reply: nil)
        }
    }

    func receive(_ message: BusMessage) {
        guard let message = ClusterJSON.decode(ClusterMessage.self, message.bytes) else { return }
        perform(state.withLock { $0.cluster.receive(message, now: .now) })
    }

    func perform(_ effects: [ClusterState.Effect]) {
        for effect in effects {
            switch effect {
            case .joined(let node):
                handlers.emit(.joined(node))
                // The newcomer hears of this relay at once.
                sayAlive()
            case .left(let node): handlers.emit(.left(node))
            case .changed(let node): handlers.emit(.changed(node))
            case .nameIsTaken: handlers.emit(.nameIsTaken)
            case .fetch(let node): Task { await self.fetch(node) }
            case .put(let node, let id), .removed(let node, let id):
                list(id, of: node)
                handlers.emit(.broadcastChanged(id: id))
            }
        }
    }

    /// Brings the directory up to date with what a relay has.
    func list(_ id: String, of node: String) {
        guard let directory else { return }
        let (broadcast, own) = state.withLock { ($0.cluster.nodes[node]?.broadcasts[id], $0.own) }
        if var entry = broadcast?.listing, entry.id == id, let link = broadcast?.parsedLink {
            entry.removeIcon()
            // Viewers of this relay's directory watch at this relay.
            if entry.route == .relay, let ownLink = own.link(of: link) { entry.link = ownLink.text }
            _ = directory.with { $0.put(.init(entry, owner: node)) }
        } else {
            directory.with { $0.remove(id, of: node) }
        }
    }

    /// Gets all that a relay has.
    func fetch(_ node: String) async {
        var after: String?
        while true {
            let request = ClusterJSON.encode(SnapshotRequest(after: after))
            guard
                let answer = await self.request(
                    Self.subject("snapshot", of: node), request, timeout: ClusterState.snapshotTime),
                let snapshot = ClusterJSON.decode(ClusterSnapshot.self, answer), snapshot.node.name == node
            else { return }
            let (effects, next) = state.withLock { $0.cluster.receive(snapshot, after: after, now: .now) }
            perform(effects)
            guard let next else { return handlers.emit(.caughtUp(node)) }
            after = next
        }
    }

    static let snapshotPart = 200

    func sendSnapshot(_ message: BusMessage) {
        guard let reply = message.reply, let request = ClusterJSON.decode(SnapshotRequest.self, message.bytes)
        else { return }
        let snapshot = state.withLock { state in
            let ids = state.broadcasts.keys.filter { $0 > request.after ?? "" }.sorted()
            let part = ids.prefix(Self.snapshotPart)
            return ClusterSnapshot(
                node: state.own, run: run, change: state.change,
                entries: part.compactMap { id in state.broadcasts[id].map { .init(id: id, broadcast: $0) } },
                next: ids.count > part.count ? part.last : nil)
        }
        bus.publish(ClusterJSON.encode(snapshot), to: reply, reply: nil)
    }

    // MARK: Questions of other relays

    func receiveQuestion(_ message: BusMessage) {
        guard let reply = message.reply,
            let question = ClusterJSON.decode(ViewerQuestionDocument.self, message.bytes),
            let id = BroadcastID(question.broadcast), let knock = question.viewer.knock
        else { return }
        let key = knock.id.text
        state.withLock { state in
            guard !state.isStopped, state.questions[key] == nil, state.questions.count < Self.questionLimit else {
                return
            }
            state.questions[key] = Task { [weak self] in
                guard let self else { return }
                let timer = Task { [weak self] in
                    try await Task.sleep(for: Knock.answerTime)
                    self?.withdraw(key)
                }
                let decision = await handlers.decide(id, knock)
                timer.cancel()
                self.state.withLock { _ = $0.questions.removeValue(forKey: key) }
                bus.publish(ClusterJSON.encode(ViewerDecisionDocument(decision)), to: reply, reply: nil)
            }
        }
    }

    func withdrawQuestion(_ message: BusMessage) { withdraw(String(decoding: message.bytes, as: UTF8.self)) }

    func withdraw(_ question: String) { state.withLock { $0.questions[question] }?.cancel() }
}
