import MediaCore
import PeerEngine
import Testing

@Suite struct ICERestartLimiterTests {
    private let start = MediaInstant(nanoseconds: 5_000_000_000)

    /// Returns the times, in milliseconds, of the restarts of a peer that tries every 10 ms for ten seconds.
    private func restarts(hasProvenPair: Bool) -> [Int] {
        var limiter = ICERestartLimiter()
        return stride(from: 0, to: 10_000, by: 10).filter { time in
            let now = start + .milliseconds(time)
            guard limiter.allows(hasProvenPair: hasProvenPair, now: now) else { return false }
            limiter.noteRestart(now: now)
            return true
        }
    }

    @Test func restartsThatLeadNowhereBackOffToTwoSeconds() {
        #expect(restarts(hasProvenPair: false) == [0, 500, 1_500, 3_500, 5_500, 7_500, 9_500])
    }

    @Test func restartsThatSelectedAPairComeFourTimesASecondAtMost() {
        #expect(restarts(hasProvenPair: true).count == 40)
    }
}
