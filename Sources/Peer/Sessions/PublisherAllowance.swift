import LinuxRuntime
import MediaCore
import Transport

/// Limits what a paired publisher can make a service do to others: open ICE agents, each of which asks every TURN
/// server, and send connectivity checks to unproven addresses. For one session; the numbers are those of a host's viewer.
/// Confined to the network loop.
final class PublisherAllowance: TransportAllowance {
    /// An outage of 30 s, with a restart each 3 s and eight candidates in each.
    private var agents = TokenBucket(burst: 12, rate: 1.0 / 3, now: MonotonicClock.now)
    private var candidates = TokenBucket(burst: 60, rate: 1, now: MonotonicClock.now)

    func takeAgent(now: MediaInstant) -> Bool { Self.take(&agents, now) }

    func takeCandidate(now: MediaInstant) -> Bool { Self.take(&candidates, now) }

    private static func take(_ bucket: inout TokenBucket, _ now: MediaInstant) -> Bool {
        bucket.refill(now)
        guard bucket.has() else { return false }
        bucket.take()
        return true
    }
}
