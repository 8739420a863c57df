public import Identifiers
public import MediaCore

/// Decides at which other relay of a cluster a viewer goes on when the one that it watches at has gone, or asks for
/// that.
public struct AlternateRelays: Sendable {
    /// How long other relays are tried.
    public static let moveTime = MediaDuration.seconds(30)
    /// The silence of a relay after which another one is tried.
    public static let patience = MediaDuration.seconds(4)
    /// The pause after all were tried.
    public static let pause = MediaDuration.milliseconds(500)

    /// Those that the last one has named, in the order in which they are tried.
    private var others: [Link] = []
    private var next = 0
    /// When the last one was lost; nil while one works.
    private var lostSince: MediaInstant?

    public init() {}

    /// Takes the links that a relay names and has signed.
    public mutating func note(_ links: [Link], using generator: inout some RandomNumberGenerator) {
        others = links.shuffled(using: &generator)
        next = 0
    }

    public mutating func noteConnected() { lostSince = nil }

    public var isEmpty: Bool { others.isEmpty }

    /// Whether other relays are being tried.
    public var isMoving: Bool { lostSince != nil }

    /// - Parameter link: the one that was lost; it is tried again after all others.
    /// - Returns: nil if none is known, or the time is over.
    public mutating func next(after link: Link, now: MediaInstant) -> Link? {
        guard !others.isEmpty else { return nil }
        if lostSince == nil {
            others = others.filter { $0 != link } + [link]
            (lostSince, next) = (now, 0)
        }
        guard let begin = lostSince, now - begin < Self.moveTime else { return nil }
        defer { next += 1 }
        return others[next % others.count]
    }

    /// Whether all were tried, so that a pause follows.
    public var isRoundOver: Bool { next > 0 && next % others.count == 0 }
}
