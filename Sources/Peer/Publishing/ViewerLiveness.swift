import MediaCore
import PeerEngine

/// Whether a viewer is connected and heard: a value that decides, without a clock.
struct ViewerLiveness {
    private let opened: MediaInstant
    /// When media could flow first; nil before.
    private(set) var connected: MediaInstant?
    private var consent: ConsentFreshness
    /// When its last event stream was closed by itself.
    private var hungUp: MediaInstant?

    enum Change {
        /// Nothing came of the offer in time.
        case notConnected
        /// It is silent; no media is sent until it is heard.
        case interrupted
        /// It is silent, and its event stream was closed when its media ended: an outage is not told of.
        case crashed
        case expired
    }

    init(patience: MediaDuration, now: MediaInstant) {
        opened = now
        consent = ConsentFreshness(patience: patience, now: now)
    }

    var isConnected: Bool { connected != nil }
    var isInterrupted: Bool { consent.isInterrupted }
    /// Connected, and not silent.
    var isReceiving: Bool { isConnected && !isInterrupted }

    mutating func connect(now: MediaInstant) { connected = connected ?? now }

    /// An authentic packet came from the address that media goes to.
    /// - Returns: the silence before it, if it ends an interruption.
    mutating func heard(_ now: MediaInstant) -> MediaDuration? { consent.heard(now) }

    mutating func listening(_ isOpen: Bool, now: MediaInstant) { hungUp = isOpen ? nil : now }

    mutating func check(_ now: MediaInstant, connectLimit: MediaDuration) -> Change? {
        guard isConnected else { return now - opened > connectLimit ? .notConnected : nil }
        switch consent.check(now) {
        case .expired: return .expired
        case .interrupted: return hasCrashed ? .crashed : .interrupted
        case nil: return nil
        }
    }

    private var hasCrashed: Bool {
        guard let hungUp else { return false }
        return hungUp - consent.lastHeard < .milliseconds(1_500) && consent.lastHeard - hungUp < .milliseconds(1_500)
    }
}
