public import MediaCore

/// Decides whether the other side of a connection, a viewer or a host, is connected and heard, and when its session is
/// over.
public struct ConnectionLiveness: Sendable {
    private var opened: MediaInstant
    /// When DTLS completed, so that media could flow; nil before.
    public private(set) var connected: MediaInstant?
    private var media: MediaLiveness
    /// When the viewer's last event stream was closed; nil while one is open.
    private var eventStreamClosed: MediaInstant?
    /// Whether an event stream of the viewer is open.
    public private(set) var hasEventStream = false
    /// The other side seems to have gone, and has not been heard since.
    private var isMissed = false
    /// When the last packet was sent to a silent viewer.
    private var lastProbe: MediaInstant?
    /// Authentic packets, counted as far as `certain`.
    private var packets = 0
    /// The longest time between two packets.
    private var longestGap = MediaDuration.zero

    /// From a viewer that answers checks, the first report is waited for so long: the first interval of RTCP is at most
    /// 3.1 s, and later ones 6.2 s, where the minimum is not reduced (RFC 3550 section 6.3). Without reports nobody
    /// knows what the path carries, so that sending ceases (RFC 8083 section 4.2).
    static let firstReport = MediaDuration.seconds(8)
    /// The same for further reports of a viewer that sends them rarely.
    static let rareReports = MediaDuration.seconds(10)
    /// So many packets tell how often reports come.
    private static let certain = 3

    public enum Change: Equatable, Sendable {
        /// The offer led to no connection in time.
        case notConnected
        /// The viewer is silent. No media is sent until it is heard.
        case interrupted
        /// The viewer is silent, and its event stream was closed when its media ended. In an outage no close would
        /// arrive.
        case crashed
        /// The viewer answers checks (RFC 7675), and has never sent an SRTCP or SRTP packet.
        case withoutRTCP
        case expired
    }

    /// - Parameter interruptionThreshold: the silence that is an interruption.
    public init(interruptionThreshold: MediaDuration, now: MediaInstant) {
        opened = now
        media = MediaLiveness(interruptionThreshold: interruptionThreshold, now: now)
    }

    /// The other side's description is there: the time for connecting begins.
    public mutating func begin(now: MediaInstant) { opened = now }

    public var isConnected: Bool { connected != nil }
    public var isInterrupted: Bool { media.isInterrupted }
    /// Whether the other side is connected and not silent.
    public var isReceiving: Bool { isConnected && !isInterrupted }

    /// The time since the last authentic packet.
    public func silence(_ now: MediaInstant) -> MediaDuration { media.silence(now) }

    /// How long the viewer has had no connection since its offer; nil once it has one.
    public func waiting(_ now: MediaInstant) -> MediaDuration? { isConnected ? nil : now - opened }

    /// Notes that DTLS is complete.
    public mutating func connect(now: MediaInstant) {
        connected = connected ?? now
        _ = media.heard(now)
    }

    /// Notes an authentic packet from the address that media goes to.
    /// - Returns: the silence before it, if it ends an interruption.
    public mutating func heard(_ now: MediaInstant) -> MediaDuration? {
        isMissed = false
        if packets > 0, !isInterrupted { longestGap = max(longestGap, min(media.silence(now), Self.rareReports)) }
        packets = min(packets + 1, Self.certain)
        return media.heard(now)
    }

    /// Notes that the viewer has opened an event stream, or closed its last one.
    public mutating func noteEventStream(isOpen: Bool, now: MediaInstant) {
        hasEventStream = isOpen
        eventStreamClosed = isOpen ? nil : now
    }

    /// Notes that the other side may have ended the session. If that is so, the interruption begins at once.
    public mutating func noteMissed() { isMissed = true }

    /// Whether a packet may be sent to a silent viewer whose address answers checks: one each 100 ms.
    public mutating func takeProbe(now: MediaInstant) -> Bool {
        guard lastProbe.map({ now - $0 >= .milliseconds(95) }) ?? true else { return false }
        lastProbe = now
        return true
    }

    /// - Parameters:
    ///   - connectLimit: the time limit from the offer to `connect`.
    ///   - isConsenting: the viewer has answered a check lately, where media goes to.
    ///   - isPathGone: the path is known to be lost.
    /// - Returns: `.notConnected` at each call after that limit; each other change once.
    public mutating func check(
        _ now: MediaInstant, connectLimit: MediaDuration, isConsenting: Bool = false, isPathGone: Bool = false
    ) -> Change? {
        guard isConnected else { return now - opened > connectLimit ? .notConnected : nil }
        if isConsenting, !isInterrupted {
            if packets == 0, media.silence(now) >= Self.firstReport { return .withoutRTCP }
            if media.silence(now) < patience { return nil }
        }
        switch media.check(now, isPathGone: isPathGone || isMissed) {
        case .expired: return .expired
        case .interrupted: return hasCrashed ? .crashed : .interrupted
        case nil: return nil
        }
    }

    /// How long a viewer that answers checks may be silent.
    private var patience: MediaDuration {
        guard packets > 0 else { return Self.firstReport }
        return packets < Self.certain || longestGap > .seconds(2) ? Self.rareReports : .zero
    }

    private var hasCrashed: Bool {
        guard let eventStreamClosed else { return false }
        return eventStreamClosed - media.lastHeard < .milliseconds(1_500)
            && media.lastHeard - eventStreamClosed < .milliseconds(1_500)
    }
}
