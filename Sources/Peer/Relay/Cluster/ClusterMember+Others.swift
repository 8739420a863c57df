import Admission
public import Identifiers
import MediaCore
import Signaling
import Synchronization

/// Queries about the broadcasts that the other relays have.
extension ClusterMember {
    /// The relays that a broadcast can be got from, the best one first.
    func sources(of id: BroadcastID) -> [UpstreamRelay] {
        state.withLock { $0.cluster.sources(of: id.text) }
    }

    /// What the other relays have told of a broadcast.
    func upstreams(of id: BroadcastID) -> UpstreamRelays {
        state.withLock { state in
            UpstreamRelays(
                sources: state.cluster.sources(of: id.text),
                unable: Set(state.cluster.nodes.keys.filter { state.cluster.canFetch(id.text, from: $0) == false }))
        }
    }

    /// This relay.
    var own: ClusterNode { state.withLock { $0.own } }

    /// How many other relays are heard.
    public var relayCount: Int { state.withLock { $0.cluster.nodes.count } }

    /// Whether another relay is heard.
    public func knows(_ node: String) -> Bool { state.withLock { $0.cluster.nodes[node] != nil } }

    /// A broadcast that its publisher may go on with here.
    /// - Parameter publisher: SHA-256 of its certificate, 32 bytes.
    public func resumable(_ id: BroadcastID, by publisher: [UInt8]) -> ClusterBroadcast? {
        let broadcast = state.withLock { $0.cluster.published(id.text) }
        return broadcast?.publisher == Base64URL.encode(publisher) ? broadcast : nil
    }

    /// Whether another relay has, or had a moment ago, a broadcast of this publisher.
    /// - Parameter fingerprint: SHA-256 of its certificate, 32 bytes.
    public func isPublisher(_ fingerprint: [UInt8]) -> Bool {
        state.withLock { $0.cluster.isPublisher(Base64URL.encode(fingerprint)) }
    }

    /// The other relays that take viewers.
    public var others: [ClusterNode] {
        state.withLock { state in
            state.cluster.nodes.values.map(\.node).filter { !$0.isDraining }.sorted { $0.name < $1.name }
        }
    }

    /// The most links that viewers are told.
    private static let alternates = 4

    /// Where else a broadcast can be watched: at the other relays, which fetch it if they do not have it.
    /// - Parameter known: its link at any relay.
    public func links(of known: Link) -> [String] {
        others.shuffled().prefix(Self.alternates).compactMap { $0.link(of: known)?.text }
    }

    /// The links of the other relays for publishers.
    public func serviceLinks(_ id: ServiceID) -> [String] {
        others.shuffled().prefix(Self.alternates).compactMap { $0.serviceLink(id)?.text }
    }

    /// Whether a certificate is that of another relay.
    /// - Parameter fingerprint: SHA-256, 32 bytes.
    public func isRelay(_ fingerprint: [UInt8]) -> Bool {
        let text = Base64URL.encode(fingerprint)
        return state.withLock { $0.cluster.nodes.values.contains { $0.node.fingerprint == text } }
    }

    /// The viewers of a broadcast at the other relays.
    public func viewers(of id: BroadcastID) -> Int {
        state.withLock { $0.cluster.nodes.values.reduce(0) { $0 + ($1.broadcasts[id.text]?.viewers ?? 0) } }
    }

    /// How many other relays get a broadcast from this one.
    public func copies(of id: BroadcastID) -> Int {
        state.withLock { state in state.cluster.nodes.values.count { $0.fetches(id.text, from: name) } }
    }

    /// The names of those relays.
    public func fetchers(of id: BroadcastID) -> Set<String> {
        state.withLock { state in
            Set(state.cluster.nodes.values.filter { $0.fetches(id.text, from: name) }.map(\.node.name))
        }
    }
}
