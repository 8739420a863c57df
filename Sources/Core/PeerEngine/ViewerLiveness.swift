public import MediaCore

/// Decides whether a viewer is connected and heard, and when its session is over.
public struct ViewerLiveness: Sendable {
    private let opened: MediaInstant
    /// When media could flow first; nil before.
    public private(set) var connected: MediaInstant?
    private var media: MediaLiveness
    /// When its last event stream was closed by itself.
    private var hungUp: MediaInstant?

    public enum Change: Equatable, Sendable {
        /// Nothing came of the offer in time.
        case notConnected
        /// It is silent; no media is sent until it is heard.
        case interrupted
        /// It is silent, and its event stream was closed when its media ended: an outage is not told of.
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
    /// Connected, and not silent.
    public var isReceiving: Bool { isConnected && !isInterrupted }

    /// DTLS is done: media may flow.
    public mutating func connect(now: MediaInstant) { connected = connected ?? now }

    /// An authentic packet came from the address that media goes to.
    /// - Returns: the silence before it, if it ends an interruption.
    public mutating func heard(_ now: MediaInstant) -> MediaDuration? { media.heard(now) }

    /// It has opened an event stream, or closed its last one.
    public mutating func listening(_ isOpen: Bool, now: MediaInstant) { hungUp = isOpen ? nil : now }

    /// - Parameter connectLimit: from the offer to `connect`.
    /// - Returns: `.notConnected` as long as that is so; each other change once.
    public mutating func check(_ now: MediaInstant, connectLimit: MediaDuration) -> Change? {
        guard isConnected else { return now - opened > connectLimit ? .notConnected : nil }
        switch media.check(now) {
        case .expired: return .expired
        case .interrupted: return hasCrashed ? .crashed : .interrupted
        case nil: return nil
        }
    }

    private var hasCrashed: Bool {
        guard let hungUp else { return false }
        return hungUp - media.lastHeard < .milliseconds(1_500) && media.lastHeard - hungUp < .milliseconds(1_500)
    }
}
