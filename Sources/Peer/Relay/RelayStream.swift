import Identifiers
import MediaCore
import Signaling

/// A broadcast that a relay has, or tries to get, from its publisher or from another relay. A value.
struct RelayStream<Media: Sendable>: Sendable {
    enum Source: Sendable {
        case publisher(SessionID, Publisher)
        case upstream(Upstream)
    }

    /// The stages of a stream. A stream that has ended is in no table.
    enum State: Sendable, Equatable {
        /// No relay is asked at the moment.
        case searching
        /// The session with the source has no media yet.
        case connecting
        /// The session has had media.
        case live
    }

    /// Where packets do not arrive. Viewers learn whether there is such a place.
    struct Interruptions: OptionSet, Sendable {
        let rawValue: Int
        /// At this relay.
        static var source: Self { Self(rawValue: 1) }
        /// At the relay that is the source.
        static var publisher: Self { Self(rawValue: 2) }
    }

    let media: Media
    var source: Source
    var state: State
    var interruptions: Interruptions = []
    /// At this relay, other relays among them.
    var viewers = 0

    /// The session of the publisher; nil: it sends to another relay.
    var session: SessionID? { if case .publisher(let session, _) = source { session } else { nil } }

    /// Nil: the publisher sends to this relay.
    var upstream: Upstream? { if case .upstream(let upstream) = source { upstream } else { nil } }

    var isActive: Bool { interruptions.isEmpty }

    /// The relay that the stream comes from, or is asked for, as it was last heard; nil: there is none.
    func source(among relays: UpstreamRelays) -> UpstreamRelay? {
        guard state != .searching, let relay = upstream?.attempt?.relay else { return nil }
        return relays.sources.first { $0.node.name == relay.node.name } ?? relay
    }

    /// The relay that the publisher sends to, as the source says; nil: it sends here, or there is no source.
    func publisherRelay(_ relays: UpstreamRelays) -> String? { source(among: relays)?.broadcast.path.first }
}

/// A relay that has a broadcast, as it has told.
struct UpstreamRelay: Sendable {
    let node: ClusterNode
    let broadcast: ClusterBroadcast

    /// Of the broadcast at that relay; nil if what was told is no link.
    var link: Link? { broadcast.parsedLink.flatMap { node.link(of: $0) } }
}

/// The state of one broadcast at the other relays of the cluster, as they have told.
struct UpstreamRelays: Sendable {
    /// Those that it can be got from, the best one first.
    var sources: [UpstreamRelay] = []
    /// Those that do not have it, or get it from this relay.
    var unable: Set<String> = []

    /// Whether the publisher sends to another relay than this one.
    func isPublished(elsewhereThan node: String) -> Bool {
        sources.contains { $0.node.name != node && $0.broadcast.path.count == 1 }
    }
}

/// The search for a relay that has a broadcast, and the attempts to get it. A value without a clock.
struct Upstream: Sendable {
    /// A session with a relay.
    struct Attempt: Sendable {
        let number: Int
        let relay: UpstreamRelay
        let began: MediaInstant
    }

    /// The last one; it runs unless the stream is searching.
    var attempt: Attempt?
    /// When no further relay is tried.
    private var deadline: MediaInstant
    /// When relays are looked for again.
    private(set) var next: MediaInstant
    /// They are tried again after all others.
    private var failed: Set<String> = []
    private var pause = Upstream.pauses.first
    /// Nil while somebody watches; until the first viewer, the begin.
    var idleSince: MediaInstant?
    /// Media has come, from any relay.
    private(set) var hasCome = false

    /// How long a request waits until a broadcast has come.
    static let fetchTime = MediaDuration.seconds(4)
    /// How long viewers wait for another relay when one has failed.
    static let failoverTime = MediaDuration.seconds(15)
    /// Between attempts that fail at once; each is twice as long as the one before.
    private static let pauses = (first: MediaDuration.milliseconds(200), longest: MediaDuration.seconds(4))
    /// An attempt that ends earlier has failed at once.
    private static let shortest = MediaDuration.seconds(1)
    /// How long no relay has to be known until they are looked for again.
    private static let lookInterval = MediaDuration.milliseconds(100)

    init(now: MediaInstant) {
        deadline = now + Self.fetchTime
        next = now
        idleSince = now
    }

    enum Choice {
        case relay(UpstreamRelay)
        case wait
        case giveUp
    }

    /// Chooses the relay to ask.
    mutating func choose(_ relays: UpstreamRelays, now: MediaInstant) -> Choice {
        guard now >= next else { return .wait }
        guard now < deadline else { return .giveUp }
        if relays.sources.allSatisfy({ failed.contains($0.node.name) }) { failed = [] }
        if let relay = relays.sources.first(where: { !failed.contains($0.node.name) }), relay.link != nil {
            return .relay(relay)
        }
        next = now + Self.lookInterval
        return .wait
    }

    mutating func noteMedia() { hasCome = true }

    /// Takes note of the end of the attempt.
    mutating func noteEnd(wasLive: Bool, now: MediaInstant) {
        guard let attempt else { return }
        failed.insert(attempt.relay.node.name)
        if wasLive { deadline = now + Self.failoverTime }
        guard now - attempt.began < Self.shortest else {
            (next, pause) = (now, Self.pauses.first)
            return
        }
        next = now + pause
        pause = min(pause + pause, Self.pauses.longest)
    }
}
