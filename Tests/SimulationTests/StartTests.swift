import MediaCore
import MediaEngine
import Testing

/// How long a viewer waits for the first frame.
@Suite struct StartTests {
    @Test func aLargeFirstFrameLeavesQuicklyOnAFastPath() {
        var options = SimulatedCall.Options()
        options.maximumBitrate = .kilobits(10_000)
        let call = SimulatedCall(
            seed: 1, .init(delay: .microseconds(200), rate: .kilobits(500_000)),
            plan: .steady(perSecond: 30, bytes: 9_000),
            options: options)
        call.keyframeBytes = 600_000
        call.run(for: .seconds(3))
        print(call.summary, "first", call.shown.first?.latency.inMilliseconds ?? -1)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.shown.first?.latency ?? .seconds(9) <= .milliseconds(250))
        // Later frames are sent at the rate that the path was measured to carry.
        #expect(call.latency(percentile: 0.99, from: .seconds(1)) <= .milliseconds(2))
    }

    @Test(arguments: [(3_000, 25), (10_000, 25), (3_000, 100)])
    func theFirstFrameTakesLittleMoreThanThePathDoes(kilobits: Int, delay: Int) {
        let call = SimulatedCall(
            seed: 2, .init(delay: .milliseconds(delay), rate: .kilobits(kilobits)),
            plan: .steady(perSecond: 30, bytes: 2_000))
        call.keyframeBytes = 80_000
        call.run(for: .seconds(5))
        let least = MediaDuration.milliseconds(delay + 80_000 * 8 / kilobits)
        print(
            kilobits, delay, call.summary, "first", call.shown.first?.latency.inMilliseconds ?? -1, "least",
            least.inMilliseconds)
        #expect(call.shown.first?.latency ?? .seconds(9) <= least + .milliseconds(100 + 4 * delay))
        #expect(call.forward.longestQueue <= .milliseconds(250))
    }

    /// Firefox's video stops for good after RTX packets without a payload.
    @Test func probesHaveAPayloadEvenWhereFramesAreSmall() {
        let call = SimulatedCall(
            seed: 3, .init(delay: .milliseconds(10), rate: .kilobits(10_000)), plan: .steady(perSecond: 30, bytes: 200))
        call.run(for: .seconds(15))
        #expect(call.sender.statistics.retransmission.probePackets > 50)
        #expect(call.receiver.statistics.paddingPackets == 0)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
    }
}
