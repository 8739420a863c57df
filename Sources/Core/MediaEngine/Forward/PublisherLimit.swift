public import MediaCore

/// Notices a publisher that sends more than a relay takes: it is told the limit, and its broadcast ends when it has
/// sent more than twice that for 10 s, or in a burst as much as twice the limit carries in a minute.
///
/// Pauses between bursts count as a fifth of their time, so a publisher cannot begin anew by a pause.
public struct PublisherLimit: Sendable {
    public let maximum: Bitrate
    /// The publisher sent more than the limit in the last interval.
    public private(set) var isExceeded = false
    private var begin: (bytes: Int, at: MediaInstant)?
    /// How long it has sent more than twice the limit, less a fifth of the time in which it did not.
    private var doubled = MediaDuration.zero
    /// The bytes beyond twice the limit.
    private var excess = 0.0

    private static let interval = MediaDuration.seconds(1)
    static let patience = MediaDuration.seconds(10)
    private static let forgiveness: Int64 = 5
    /// How much excess is taken, as time at twice the limit.
    private static let burst = MediaDuration.seconds(60)

    public init(maximum: Bitrate) { self.maximum = maximum }

    /// Called several times a second.
    /// - Parameter received: all bytes that the publisher has sent; less than before if it has a new session.
    /// - Returns: true if the broadcast is to end.
    public mutating func update(received: Int, now: MediaInstant) -> Bool {
        guard let begin, received >= begin.bytes else {
            begin = (received, now)
            isExceeded = false
            return false
        }
        let elapsed = now - begin.at
        guard elapsed >= Self.interval else { return false }
        let bytes = Double(received &- begin.bytes)
        let allowed = Double(maximum.bitsPerSecond) / 8
        isExceeded = bytes > allowed * elapsed.inSeconds
        let over = bytes - 2 * allowed * elapsed.inSeconds
        excess = max(0, excess + over)
        doubled =
            over > 0
            ? doubled + elapsed
            : max(.zero, doubled - MediaDuration(nanoseconds: elapsed.nanoseconds / Self.forgiveness))
        self.begin = (received, now)
        return doubled >= Self.patience || excess > 2 * allowed * Self.burst.inSeconds
    }
}
