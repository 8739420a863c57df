public import MediaCore

/// Notices a publisher that sends more than a relay takes: it is told the limit, and its broadcast ends when it has sent
/// more than twice that for 10 s.
public struct PublisherLimit: Sendable {
    public let maximum: Bitrate
    /// The publisher sent more than the limit in the last interval.
    public private(set) var isExceeded = false
    private var begin: (bytes: Int, at: MediaInstant)?
    /// Since when it has sent more than twice the limit.
    private var doubled: MediaInstant?

    private static let interval = MediaDuration.seconds(1)
    static let patience = MediaDuration.seconds(10)

    public init(maximum: Bitrate) { self.maximum = maximum }

    /// Called several times a second.
    /// - Parameter received: all bytes that the publisher has sent; less than before if it has a new session.
    /// - Returns: true if the broadcast is to end.
    public mutating func update(received: Int, now: MediaInstant) -> Bool {
        guard let begin, received >= begin.bytes else {
            begin = (received, now)
            (isExceeded, doubled) = (false, nil)
            return false
        }
        let elapsed = now - begin.at
        guard elapsed >= Self.interval else { return false }
        let rate = Double(received &- begin.bytes) * 8 / elapsed.inSeconds
        isExceeded = rate > Double(maximum.bitsPerSecond)
        doubled = rate > 2 * Double(maximum.bitsPerSecond) ? doubled ?? begin.at : nil
        self.begin = (received, now)
        return doubled.map { now - $0 >= Self.patience } ?? false
    }
}
