import Identifiers
import Signaling

/// What the other relays of a cluster have said, and for how long it holds. A value without a clock of its own.
///
/// Each relay alone changes what it has, counts its changes, and says several times within `lease` how many there were:
/// who has missed one asks for all. A relay that is silent for `lease` is forgotten, with its broadcasts.
public struct ClusterState: Sendable {
    /// How often a relay says that it is there.
    public static let interval = Duration.seconds(2)
    /// How long what it has said holds.
    public static let lease = Duration.seconds(7)
    /// How long a part of a snapshot may take. Both sides may have thousands of messages to read first.
    static let snapshotTime = lease
    /// Relays at a time.
    static let nodeLimit = 64
    /// Broadcasts of one relay.
    static let broadcastLimit = 16_384
    /// Changes of one relay: more than there can be.
    static let changeLimit = 1 << 53

    /// A relay that was heard.
    struct Node: Sendable {
        var node: ClusterNode
        var run: UInt64
        /// The last change that is known here, with all before it.
        var change: Int
        var deadline: ContinuousClock.Instant
        var broadcasts: [String: ClusterBroadcast] = [:]
        /// A snapshot is being fetched.
        var fetch: Fetch?
    }

    /// A snapshot that comes in parts.
    struct Fetch: Sendable {
        /// It is asked for again after that.
        var deadline: ContinuousClock.Instant
        /// What it, or a change meanwhile, has brought so far.
        var found: Set<String> = []
        /// The last identifier of its last part.
        var position = ""
        /// The changes that have removed broadcasts meanwhile, which the snapshot may still have.
        var removed: [String: Int] = [:]
    }

    /// What follows from a message.
    enum Effect: Equatable {
        case joined(ClusterNode)
        case left(ClusterNode)
        /// A relay says something else of itself.
        case changed(ClusterNode)
        case put(node: String, id: String)
        case removed(node: String, id: String)
        /// Ask for a snapshot.
        case fetch(node: String)
        /// Another relay has the name of this one.
        case nameIsTaken
    }

    /// How long a publisher may go on with a broadcast whose relay has gone.
    static let resumptionTime = Duration.seconds(60)

    let own: String
    private let run: UInt64
    private(set) var nodes: [String: Node] = [:]
    /// The broadcasts that were published to relays which have gone.
    private var orphans: [String: (broadcast: ClusterBroadcast, deadline: ContinuousClock.Instant)] = [:]

    /// - Parameters:
    ///   - own: the name of this relay.
    ///   - run: of this run of it.
    init(own: String, run: UInt64) {
        self.own = own
        self.run = run
    }

    mutating func receive(_ message: ClusterMessage, now: ContinuousClock.Instant) -> [Effect] {
        guard message.node != own else { return message.run == run ? [] : [.nameIsTaken] }
        guard ClusterNode.isName(message.node), (0...Self.changeLimit).contains(message.change) else { return [] }
        switch message.body {
        case .alive(let node): return alive(node, message, now)
        case .leave:
            guard nodes[message.node]?.run == message.run else { return [] }
            return forget(message.node, now)
        case .put(let id, let broadcast):
            return change(message, now) { node in
                let effect = node.put(id, broadcast, change: message.change)
                // The parts of a snapshot that have come do not have it.
                if effect != nil { node.fetch?.found.insert(id) }
                return effect
            }
        case .remove(let id):
            guard BroadcastID(id) != nil else { return [] }
            return change(message, now) { $0.remove(id, change: message.change) }
        }
    }

    private mutating func alive(
        _ node: ClusterNode, _ message: ClusterMessage, _ now: ContinuousClock.Instant
    ) -> [Effect] {
        guard node.name == message.node, node.digest != nil else { return [] }
        var effects: [Effect] = []
        if let known = nodes[node.name], known.run != message.run { effects += forget(node.name, now) }
        if nodes[node.name] == nil {
            guard nodes.count < Self.nodeLimit else { return effects }
            nodes[node.name] = Node(node: node, run: message.run, change: 0, deadline: now + Self.lease)
            effects.append(.joined(node))
        } else if nodes[node.name]?.node != node {
            effects.append(.changed(node))
        }
        nodes[node.name]?.node = node
        nodes[node.name]?.deadline = now + Self.lease
        return effects + fetch(node.name, if: nodes[node.name]?.change != message.change, now)
    }

    /// Asks for all that a relay has, unless that is under way.
    private mutating func fetch(_ name: String, if isNeeded: Bool, _ now: ContinuousClock.Instant) -> [Effect] {
        guard isNeeded, let node = nodes[name], node.fetch.map({ $0.deadline <= now }) ?? true else { return [] }
        nodes[name]?.fetch = Fetch(deadline: now + Self.snapshotTime)
        return [.fetch(node: name)]
    }

    private mutating func change(
        _ message: ClusterMessage, _ now: ContinuousClock.Instant, _ apply: (inout Node) -> Effect?
    ) -> [Effect] {
        // A relay that was not heard yet is asked for all when it says that it is there.
        guard var node = nodes[message.node], node.run == message.run else { return [] }
        // The dictionary in it is changed in place.
        nodes[message.node] = nil
        // Whatever it says, it is there: it may have more to say than is read here within `lease`.
        node.deadline = now + Self.lease
        let isNext = message.change == node.change + 1
        if isNext { node.change = message.change }
        let effect = apply(&node)
        nodes[message.node] = node
        return (effect.map { [$0] } ?? [])
            + fetch(message.node, if: !isNext && message.change > node.change, now)
    }

    /// Takes a part of a snapshot. One that does not go on where the last part ended is of a fetch that was begun anew
    /// meanwhile: what came before it would be taken for removed.
    /// - Parameter after: the identifier that the part was asked for to begin behind; nil: the first part.
    /// - Returns: what follows, and where the next part begins; nil: there is none.
    mutating func receive(
        _ snapshot: ClusterSnapshot, after: String? = nil, now: ContinuousClock.Instant
    ) -> (effects: [Effect], next: String?) {
        let name = snapshot.node.name
        guard var node = nodes[name], node.run == snapshot.run, var fetch = node.fetch,
            fetch.position == after ?? "", (0...Self.changeLimit).contains(snapshot.change)
        else { return ([], nil) }
        // The dictionary in it is changed in place.
        nodes[name] = nil
        var effects: [Effect] = []
        for entry in snapshot.entries {
            if let removal = fetch.removed[entry.id], removal >= entry.broadcast.change { continue }
            if let effect = node.put(entry.id, entry.broadcast, change: entry.broadcast.change) {
                effects.append(effect)
            }
            if node.broadcasts[entry.id] != nil { fetch.found.insert(entry.id) }
        }
        node.deadline = now + Self.lease
        // Parts come in the order of the identifiers.
        if let next = snapshot.next, next > fetch.position, fetch.found.count < Self.broadcastLimit {
            (fetch.position, fetch.deadline) = (next, now + Self.snapshotTime)
            node.fetch = fetch
            nodes[name] = node
            return (effects, next)
        }
        let gone = node.broadcasts.filter { !fetch.found.contains($0.key) && $0.value.change <= snapshot.change }
        for id in gone.keys {
            node.broadcasts[id] = nil
            effects.append(.removed(node: name, id: id))
        }
        node.change = max(node.change, snapshot.change)
        node.fetch = nil
        nodes[name] = node
        return (effects, nil)
    }

    /// Forgets the relays that were silent for too long.
    mutating func expire(now: ContinuousClock.Instant) -> [Effect] {
        orphans = orphans.filter { $0.value.deadline > now }
        return nodes.filter { $0.value.deadline <= now }.keys.sorted().flatMap { forget($0, now) }
    }

    private mutating func forget(_ name: String, _ now: ContinuousClock.Instant) -> [Effect] {
        guard let node = nodes.removeValue(forKey: name) else { return [] }
        for (id, broadcast) in node.broadcasts where broadcast.path.count == 1 {
            guard orphans.count < Self.broadcastLimit else { break }
            orphans[id] = (broadcast, now + Self.resumptionTime)
        }
        return node.broadcasts.keys.map { .removed(node: name, id: $0) } + [.left(node.node)]
    }

    /// A broadcast as the relay that it is, or was, published to has told of it.
    public func published(_ id: String) -> ClusterBroadcast? {
        nodes.values.lazy.compactMap { $0.broadcasts[id] }.first { $0.path.count == 1 } ?? orphans[id]?.broadcast
    }

    /// Whether another relay has, or had, a broadcast of this publisher.
    /// - Parameter fingerprint: base64url.
    public func isPublisher(_ fingerprint: String) -> Bool {
        nodes.values.contains { $0.broadcasts.values.contains { $0.publisher == fingerprint } }
            || orphans.values.contains { $0.broadcast.publisher == fingerprint }
    }

    /// Whether this relay can get a broadcast from another one; nil: what that one has is not known, or not yet.
    public func canFetch(_ id: String, from name: String) -> Bool? {
        guard let node = nodes[name], node.fetch == nil else { return nil }
        return node.broadcasts[id].map { !$0.path.contains(own) } ?? false
    }

    /// The other relays that have a broadcast, and that this one can get it from: those with the shortest way to the
    /// publisher first, and of these the ones with the fewest viewers. Those that are about to stop come last.
    func sources(of id: String) -> [UpstreamRelay] {
        nodes.values.compactMap { node in
            guard let broadcast = node.broadcasts[id], !broadcast.path.contains(own),
                broadcast.path.count < ClusterBroadcast.depthLimit, broadcast.listing?.route != .direct
            else { return nil }
            return UpstreamRelay(node: node.node, broadcast: broadcast)
        }.sorted {
            ($0.node.isDraining ? 1 : 0, $0.broadcast.path.count, $0.broadcast.viewers, $0.node.name)
                < ($1.node.isDraining ? 1 : 0, $1.broadcast.path.count, $1.broadcast.viewers, $1.node.name)
        }
    }
}

extension ClusterState.Node {
    /// Whether it gets a broadcast from another relay.
    func fetches(_ id: String, from relay: String) -> Bool {
        guard let path = broadcasts[id]?.path, path.count > 1 else { return false }
        return path[path.count - 2] == relay
    }

    fileprivate mutating func put(_ id: String, _ broadcast: ClusterBroadcast, change: Int) -> ClusterState.Effect? {
        var broadcast = broadcast
        broadcast.change = change
        guard broadcasts[id].map({ $0.change < change }) ?? (broadcasts.count < ClusterState.broadcastLimit),
            broadcast.isValid(from: node.name), broadcast.parsedLink?.id.text == id
        else { return nil }
        broadcasts[id] = broadcast
        return .put(node: node.name, id: id)
    }

    fileprivate mutating func remove(_ id: String, change: Int) -> ClusterState.Effect? {
        if let known = fetch?.removed, known.count < ClusterState.broadcastLimit {
            fetch?.removed[id] = max(known[id] ?? 0, change)
        }
        guard let known = broadcasts[id], known.change < change else { return nil }
        broadcasts[id] = nil
        return .removed(node: node.name, id: id)
    }
}
