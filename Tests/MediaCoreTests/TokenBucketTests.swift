import MediaCore
import Testing

@Suite struct TokenBucketTests {
    private let start = MediaInstant(nanoseconds: 1_000_000_000_000)

    /// Returns how many single tokens can be taken at once.
    private func drain(_ bucket: inout TokenBucket) -> Int {
        var taken = 0
        while bucket.has() {
            bucket.take()
            taken += 1
        }
        return taken
    }

    @Test func burstPassesAtOnce() {
        var bucket = TokenBucket(burst: 20, rate: 2, now: start)
        #expect(bucket.isFull())
        let taken = drain(&bucket)
        #expect(taken == 20 && !bucket.isFull())
    }

    @Test func rateRulesAfterTheBurst() {
        var bucket = TokenBucket(burst: 3, rate: 50_000, now: start)
        _ = drain(&bucket)
        var taken = 0
        // The steps are no multiple of a token's 20 us.
        for step in 1...100_000 {
            bucket.refill(start + .microseconds(7 * step))
            taken += drain(&bucket)
        }
        #expect(taken == 35_000)
    }

    @Test func refillsToTheBurstAtMost() {
        var bucket = TokenBucket(burst: 5, rate: 1, now: start)
        _ = drain(&bucket)
        bucket.refill(.distantFuture)
        #expect(bucket.isFull())
        let taken = drain(&bucket)
        #expect(taken == 5)
    }

    @Test(arguments: [1.0 / 3, 0.1, 0.5, 1, 2, 4, 5, 32, 64, 128, 50_000])
    func tokenIsThereAfterItsIntervalAndNotBefore(_ rate: Double) {
        var bucket = TokenBucket(burst: 1, rate: rate, now: start)
        bucket.take()
        let interval = MediaDuration(nanoseconds: Int64((1e9 / rate).rounded()))
        bucket.refill(start + interval - MediaDuration(nanoseconds: 1))
        #expect(!bucket.has())
        bucket.refill(start + interval)
        #expect(bucket.has())
    }

    @Test func severalTokensAreTakenTogether() {
        var bucket = TokenBucket(burst: 10, rate: 1, now: start)
        #expect(bucket.has(10) && !bucket.has(10.5))
        bucket.take(7.5)
        #expect(bucket.has(2.5) && !bucket.has(3))
    }

    @Test func waitIsRoundedUpToSeconds() {
        var bucket = TokenBucket(burst: 1, rate: 0.1, now: start)
        bucket.take()
        #expect(bucket.wait == 10)
        bucket.refill(start + .milliseconds(1))
        #expect(bucket.wait == 10)
        bucket.refill(start + .milliseconds(9_500))
        #expect(bucket.wait == 1)
        bucket.refill(start + .seconds(10))
        #expect(bucket.has() && bucket.wait == 1)
    }

    @Test func timeThatJumpsBackIsIgnored() {
        var bucket = TokenBucket(burst: 1, rate: 1, now: start)
        bucket.take()
        bucket.refill(start - .seconds(100))
        #expect(!bucket.has())
        bucket.refill(start + .seconds(1))
        #expect(bucket.has())
    }
}
