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
        #expect(run([(5_000, 8), (900, 60), (5_000, 8), (900, 10)]).end == nil)
        #expect(run([(900, 5), (5_000, 8), (900, 5), (5_000, 20)]).end == 21)
    }

    /// What it sends in short bursts counts as well: on average it may send twice the limit.
    @Test func aPublisherThatSendsInBurstsIsEnded() {
        #expect(run(Array(repeating: [(5_000, 9), (0, 2)], count: 10).flatMap(\.self)).end == 13)
        // A megabit a second for ten minutes, in one second.
        #expect(run([(600_000, 1), (0, 100)]).end == 1)
        #expect(run([(50_000, 1), (0, 100)]).end == nil)
        // Below ten seconds in a minute, but far more than twice the limit.
        #expect(run(Array(repeating: [(50_000, 1), (0, 9)], count: 30).flatMap(\.self)).end == 31)
    }

    @Test func aNewSessionBeginsAnew() {
        var limit = PublisherLimit(maximum: .kilobits(1_000))
        for second in 0..<30 {
            let received = (second % 8) * 200_000
            let isOver = limit.update(received: received, now: .at(second * 1_000))
            #expect(!isOver)
        }
    }
}
