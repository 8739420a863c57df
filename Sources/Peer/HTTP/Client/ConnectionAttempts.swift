import LinuxRuntime
package import MediaCore
import Synchronization

/// Limits how often this machine connects to servers that a peer has named: `burst` times at once, then once each 5 s.
/// A connection over which the server speaks TURN does not count. Safe from any thread.
public final class ConnectionAttempts: Sendable {
    private let bucket: Mutex<TokenBucket>

    public init(burst: Int = 16) {
        bucket = Mutex(TokenBucket(burst: Double(burst), rate: 0.2, now: MonotonicClock.now))
    }

    /// Takes one attempt. Returns false if none is left now.
    package func take(now: MediaInstant = MonotonicClock.now) -> Bool {
        bucket.withLock { bucket in
            bucket.refill(now)
            guard bucket.has() else { return false }
            bucket.take()
            return true
        }
    }

    /// Gives an attempt back.
    package func giveBack() { bucket.withLock { $0.take(-1) } }
}
