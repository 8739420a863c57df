import MediaCore
import MediaEngine
import RTPWire
import Testing

/// Adaptive senders on poor paths.
@Suite struct BadPathTests {
    @Test(arguments: [(10.0, 1), (10, 2), (20, 3), (20, 4)] as [(Double, UInt64)])
    func randomLossDoesNotStarveTheCall(percent: Double, seed: UInt64) {
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(25), rate: .kilobits(4_000), lossPercent: percent),
            plan: .adaptive(perSecond: 20, limit: .kilobits(2_000)))
        call.run(for: .seconds(60))
        print("adaptive", percent, call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.longestFreeze <= .milliseconds(percent > 10 ? 1_500 : 700))
        #expect(call.sender.estimate >= .kilobits(percent > 10 ? 150 : 600))
        #expect(call.shown.count >= 60 * 12)
    }

    @Test(arguments: [5, 6, 7] as [UInt64])
    func jitterIsNoCongestion(seed: UInt64) {
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(20), jitter: .milliseconds(30), rate: .kilobits(8_000)),
            plan: .adaptive(perSecond: 30, limit: .kilobits(3_000)))
        call.run(for: .seconds(30))
        print("jitter", call.summary)
        #expect(call.sender.estimate >= .kilobits(2_000))
        #expect(call.longestFreeze <= .milliseconds(300))
    }

    @Test(arguments: [40, 80, 150])
    func burstsOfLossAreRepaired(milliseconds: Int) {
        let call = SimulatedCall(
            seed: 8, .init(delay: .milliseconds(25), rate: .kilobits(5_000)),
            plan: .adaptive(perSecond: 30, limit: .kilobits(1_500)))
        for second in 1..<20 {
            call.after(.seconds(second)) { $0.forward.conditions.isDown = true }
            call.after(.seconds(second) + .milliseconds(milliseconds)) { $0.forward.conditions.isDown = false }
        }
        call.run(for: .seconds(21))
        print("bursts", milliseconds, call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.longestFreeze <= .milliseconds(milliseconds + 300))
        #expect(call.sender.estimate >= .kilobits(milliseconds > 100 ? 400 : 1_200))
    }

    /// A stall delays many frames, and counts as one freeze.
    @Test func freezesAreNoLongerThanTheCall() {
        let call = SimulatedCall(
            seed: 71, .init(delay: .milliseconds(100), lossPercent: 20), plan: .steady(perSecond: 30, bytes: 3_000))
        call.run(for: .seconds(20))
        let statistics = call.receiver.statistics
        print(
            call.summary, "freezes", statistics.freezes.count, "of", statistics.freezes.time, "longest",
            statistics.freezes.longest)
        let pauses = zip(call.shown, call.shown.dropFirst()).map { $1.shown - $0.shown }
        let gaps = pauses.filter { $0 > .milliseconds(140) }
        #expect(statistics.freezes.count > 5 && statistics.freezes.count <= gaps.count)
        #expect(statistics.freezes.time <= gaps.reduce(.zero) { $0 + $1 })
        #expect(statistics.freezes.longest <= call.longestFreeze)
        #expect(statistics.freezes.longest * 2 > call.longestFreeze)
    }
}
