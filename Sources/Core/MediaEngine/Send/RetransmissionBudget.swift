import MediaCore

/// Limits the bytes of requested retransmissions: a token bucket whose depth is twice the bytes that the receiver has
/// not acknowledged, and that fills at half the bandwidth estimate, at least 100 kbit/s. A receiver that asks for what
/// it has thus gets little, whatever it reports.
///
/// The bucket counts what was taken and not filled again, as its depth changes all the time.
struct RetransmissionBudget {
    private static let leastRate = 100_000
    private var taken = 0.0
    private var filled = MediaInstant(nanoseconds: 0)

    /// - Returns: whether a packet may be sent again; its bytes are then taken.
    mutating func take(_ bytes: Int, unacknowledged: Int, estimate: Bitrate, now: MediaInstant) -> Bool {
        if now > filled {
            let rate = Double(max(estimate.bitsPerSecond / 2, Self.leastRate)) / 8
            taken = max(0, taken - Double((now - filled).nanoseconds) / 1e9 * rate)
            filled = now
        }
        guard taken + Double(bytes) <= 2 * Double(unacknowledged) else { return false }
        taken += Double(bytes)
        return true
    }
}
