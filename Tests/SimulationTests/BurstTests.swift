import MediaCore
import MediaEngine
import Testing

/// How many packets are sent at once, whatever the bandwidth estimate allows.
@Suite struct BurstTests {
    private func call(_ seed: UInt64, keyframeBytes: Int, plan: SimulatedFrames.Plan) -> SimulatedCall {
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(5), rate: .kilobits(400_000)), plan: plan)
        call.keyframeBytes = keyframeBytes
        return call
    }

    /// The largest number of packets sent within any interval of this length.
    private func most(_ departures: [MediaInstant], within time: MediaDuration) -> Int {
        var first = 0
        var most = 0
        for (index, instant) in departures.enumerated() {
            while instant - departures[first] >= time { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }

    /// A socket's default buffer of 208 KiB holds about 90 packets; each takes 2,304 bytes with the kernel's overhead.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func largeFramesOverflowNoReceiverThatReadsTwentyPacketsAMillisecond(seed: UInt64) {
        let call = call(seed, keyframeBytes: 465_000, plan: .adaptive(perSecond: 30, limit: .kilobits(100_000)))
        // After the estimate has reached the path's bandwidth.
        let loss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0x11, 0x11]
        for second in 3..<9 { call.after(.seconds(second)) { $0.deliver([loss]) } }
        call.run(for: .seconds(10))
        print(call.summary, "in 1 ms", most(call.departures, within: .milliseconds(1)))
        #expect(call.keyframesMade >= 5 && call.damaged == 0)
        #expect(most(call.departures, within: .milliseconds(1)) <= 52)
        #expect(most(call.departures, within: .milliseconds(10)) <= 232)
        var waiting = 0.0
        var fullest = 0.0
        for (last, next) in zip(call.departures, call.departures.dropFirst()) {
            waiting = max(0, waiting - Double((next - last).nanoseconds) / 50_000) + 1
            fullest = max(fullest, waiting)
        }
        #expect(fullest <= 40)
    }

    @Test func aFrameOfThirtyPacketsLeavesAtOnce() {
        let call = call(4, keyframeBytes: 60_000, plan: .steady(perSecond: 30, bytes: 34_000))
        call.run(for: .seconds(5))
        let frames = call.made.suffix(60)
        for frame in frames {
            #expect(call.departures.count { $0 == frame.captured } >= 29)
        }
        #expect(call.latency(percentile: 1, from: .seconds(2)) <= .milliseconds(7))
    }

    @Test func aFrameOfAHundredPacketsLeavesWithinFourMilliseconds() {
        let call = call(5, keyframeBytes: 60_000, plan: .steady(perSecond: 10, bytes: 115_000))
        call.run(for: .seconds(10))
        #expect(call.latency(percentile: 0.95, from: .seconds(5)) <= .milliseconds(5 + 4 + 3))
    }
}
