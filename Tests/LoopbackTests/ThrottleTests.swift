import LinuxRuntime
import MediaCore
import Testing

@testable import Host

@Suite(.timeLimit(.minutes(1))) struct ThrottleTests {
    @Test func theFirstValuePassesAtOnceAndThenTheNewest() {
        let passed = Monitor<[Int]>([])
        let throttle = Throttle<Int> { value in passed.change { $0.append(value) } }
        for value in 0..<100 { throttle.pass(value, interval: .milliseconds(300)) }
        #expect(passed.with { $0 } == [0])
        let all = passed.wait { $0.count >= 2 ? $0 : nil }
        #expect(all == [0, 99])
    }

    @Test func withoutAnIntervalEachValuePasses() {
        let passed = Monitor<[Int]>([])
        let throttle = Throttle<Int> { value in passed.change { $0.append(value) } }
        for value in 0..<20 { throttle.pass(value, interval: .betweenAudienceReports(viewers: value % 16)) }
        #expect(passed.with { $0 } == Array(0..<20))
    }

    /// Each report goes to all of them.
    @Test func reportsToManyViewersAreRare() {
        #expect(MediaDuration.betweenAudienceReports(viewers: 17) == .milliseconds(250))
        #expect(MediaDuration.betweenAudienceReports(viewers: 2_000) == .seconds(2))
    }
}
