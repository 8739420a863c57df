public import MediaCore

/// Decides whether a viewer is connected and heard, and when its session is over.
public struct ViewerLiveness: Sendable {
    private let opened: MediaInstant
    /// When DTLS completed, so that media could flow; nil before.
    public private(set) var connected: MediaInstant?
    private var media: MediaLiveness
    /// When the viewer's last event stream was closed; nil while one is open.
    private var eventStreamClosed: MediaInstant?
    /// Whether an event stream of the viewer is open.
    public private(set) var hasEventStream = false

    public enum Change: Equatable, Sendable {
        /// The offer led to no connection in time.
        case notConnected
        /// The viewer is silent. No media is sent until it is heard.
        case interrupted
        /// The viewer is silent, and its event stream was closed when its media ended. In an outage no close would
        /// arrive.
        case crashed
        case expired
    }

    /// - Parameter interruptionThreshold: the silence that is an interruption.
    public init(interruptionThreshold: MediaDuration, now: MediaInstant) {
        opened = now
        media = MediaLiveness(interruptionThreshold: interruptionThreshold, now: now)
    }

    public var isConnected: Bool { connected != nil }
    public var isInterrupted: Bool { media.isInterrupted }
    /// Whether the viewer is connected and not silent.
    public var isReceiving: Bool { isConnected && !isInterrupted }

    /// How long the viewer has had no connection since its offer; nil once it has one.
    public func waiting(_ now: MediaInstant) -> MediaDuration? { isConnected ? nil : now - opened }

    /// Notes that DTLS is complete.
    public mutating func connect(now: MediaInstant) { connected = connected ?? now }

    /// Notes an authentic packet from the address that media goes to.
    /// - Returns: the silence before it, if it ends an interruption.
    public mutating func heard(_ now: MediaInstant) -> MediaDuration? { media.heard(now) }

    /// Notes that the viewer has opened an event stream, or closed its last one.
    public mutating func noteEventStream(isOpen: Bool, now: MediaInstant) {
        hasEventStream = isOpen
        eventStreamClosed = isOpen ? nil : now
    }

    /// - Parameter connectLimit: the time limit from the offer to `connect`.
    /// - Returns: `.notConnected` at each call after that limit; each other change once.
    public mutating func check(_ now: MediaInstant, connectLimit: MediaDuration) -> Change? {
        guard isConnected else { return now - opened > connectLimit ? .notConnected : nil }
        switch media.check(now) {
        case .expired: return .expired
        case .interrupted: return hasCrashed ? .crashed : .interrupted
        case nil: return nil
        }
    }

    private var hasCrashed: Bool {
        guard let eventStreamClosed else { return false }
        return eventStreamClosed - media.lastHeard < .milliseconds(1_500)
            && media.lastHeard - eventStreamClosed < .milliseconds(1_500)
    }
}
