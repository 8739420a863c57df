import MediaCore
import MediaEngine
import Testing

@Suite struct PublisherLimitTests {
    /// Sends at bitrates in kbit/s, each for a number of seconds, with a limit of 1,000 kbit/s.
    /// - Returns: after how many seconds the broadcast is to end, and after how many the limit was exceeded first.
    private func run(_ rates: [(kilobits: Int, seconds: Int)]) -> (end: Int?, exceeded: Int?) {
        var limit = PublisherLimit(maximum: .kilobits(1_000))
        var (bytes, milliseconds) = (0, 0)
        var exceeded: Int?
        for rate in rates {
            for _ in 0..<rate.seconds * 4 {
                bytes += rate.kilobits * 125 / 4
                milliseconds += 250
                if limit.update(received: bytes, now: .at(milliseconds)) { return (milliseconds / 1_000, exceeded) }
                if limit.isExceeded { exceeded = exceeded ?? milliseconds / 1_000 }
            }
        }
        return (nil, exceeded)
    }

    @Test func withinTheLimitNothingHappens() {
        #expect(run([(990, 60)]) == (nil, nil))
    }

    @Test func aPublisherIsToldBeforeItIsEnded() {
        #expect(run([(1_500, 60)]) == (nil, 1))
        #expect(run([(2_500, 60)]) == (10, 1))
    }

    @Test func aPublisherThatObeysInTimeStays() {
        #expect(run([(5_000, 8), (900, 10), (5_000, 8), (900, 10)]).end == nil)
        #expect(run([(900, 5), (5_000, 8), (900, 2), (5_000, 20)]).end == 25)
    }

    @Test func aNewSessionBeginsAnew() {
        var limit = PublisherLimit(maximum: .kilobits(1_000))
        for second in 0..<30 {
            let received = (second % 8) * 1_000_000
            let isOver = limit.update(received: received, now: .at(second * 1_000))
            #expect(!isOver)
        }
    }
}
