import MediaCore
import MediaEngine
import RTPWire
import Testing

/// How the bandwidth estimate follows the path, and how long the queue becomes.
@Suite struct RateTests {
    /// A path, and the same one after a drop of its rate.
    private static let wide = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(3_000), lossPercent: 2)
    private static let narrow = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(600), lossPercent: 2)

    @Test(arguments: [1, 2] as [UInt64])
    func aDropInBandwidthIsFollowedAndTheQueueStaysShort(seed: UInt64) {
        let wide = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(2_500))
        var narrow = wide
        narrow.rate = .kilobits(600)
        var options = SimulatedCall.Options()
        options.startBitrate = .kilobits(1_000)
        let call = SimulatedCall(
            seed: seed, wide, changes: [(.seconds(20), narrow), (.seconds(45), wide)],
            plan: .adaptive(perSecond: 20, limit: .kilobits(8_000)), options: options)
        call.run(for: .seconds(70))
        print(call.summary)
        for second in stride(from: 2, to: 70, by: 2) {
            let at = SimulatedCall.start + .seconds(second)
            let waits = call.forward.waits.filter { $0.at > at - .seconds(2) && $0.at <= at }.map(\.wait).sorted()
            print(
                second, call.estimate(at: .seconds(second)).kilobitsPerSecond,
                "queue p50 \(waits.isEmpty ? 0 : waits[waits.count / 2].inMilliseconds) max \(waits.last?.inMilliseconds ?? 0)"
            )
        }
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect((1_700...2_800).contains(call.estimate(at: .seconds(19)).kilobitsPerSecond))
        #expect((350...680).contains(call.estimate(at: .seconds(25)).kilobitsPerSecond))
        #expect(call.estimate(at: .seconds(60)).kilobitsPerSecond >= 1_700)
        let settled = call.forward.waits.filter { $0.at > SimulatedCall.start + .seconds(24) }.map(\.wait).sorted()
        #expect(settled[settled.count * 95 / 100] <= .milliseconds(150))
        #expect(call.longestFreeze <= .milliseconds(1_500))
    }

    /// Packet trains show that the path is wide again; the estimate does not wait for what growth and a probe would
    /// bring.
    @Test(arguments: [1, 2, 3, 4] as [UInt64], [8, 30])
    func aDropOfSecondsIsOverSoon(seed: UInt64, framesPerSecond: Int) {
        let estimate = recovery(seed, framesPerSecond, seconds: 4)
        #expect(estimate(2) >= 1_500)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64], [8, 30])
    func aLongDropIsOverAfterTheNextProbe(seed: UInt64, framesPerSecond: Int) {
        let estimate = recovery(seed, framesPerSecond, seconds: 30)
        #expect(estimate(8) >= 1_500)
    }

    /// Behind the queue of a drop retransmissions take longer than a viewer waits for them, and arrive nevertheless. A
    /// recovery frame of a whole page takes a second.
    @Test func whatIsSentAgainIsWaitedForAfterADrop() {
        var options = SimulatedCall.Options()
        options.hasReferences = true
        let calls = (1...6 as ClosedRange<UInt64>).map { seed in
            let call = SimulatedCall(
                seed: seed, Self.wide, changes: [(.seconds(8), Self.narrow)],
                plan: .adaptive(perSecond: 30, limit: .kilobits(900)), options: options)
            call.recoveryBytes = 60_000
            call.predictsRecovery = true
            call.run(for: .seconds(12))
            #expect(call.damaged == 0 && call.outOfOrder == 0 && call.keyframesMade == 1)
            return call
        }
        let freezes = calls.map { $0.freeze(from: .seconds(8)).inMilliseconds }
        #expect(freezes.reduce(0, +) / 6 < 750, "\(freezes)")
        #expect(calls.count { $0.receiver.statistics.video.recoveries > 0 } <= 1)
    }

    /// A recovery frame of video is small: the sender makes one as soon as it knows how much is lost.
    @Test func aVideoGoesOnWithARecoveryFrameAfterADrop() {
        var options = SimulatedCall.Options()
        options.hasReferences = true
        func freezes(isPredicted: Bool) -> [Double] {
            (1...8 as ClosedRange<UInt64>).map { seed in
                let call = SimulatedCall(
                    seed: seed, Self.wide, changes: [(.seconds(8), Self.narrow)],
                    plan: .adaptive(perSecond: 30, limit: .kilobits(2_500)), options: options)
                call.predictsRecovery = isPredicted
                call.run(for: .seconds(12))
                #expect(call.damaged == 0 && call.outOfOrder == 0 && call.keyframesMade <= (isPredicted ? 1 : 2))
                return call.freeze(from: .seconds(8)).inMilliseconds
            }
        }
        let (video, other) = (freezes(isPredicted: true), freezes(isPredicted: false))
        #expect((video.max() ?? .infinity) < 900)
        #expect(video.reduce(0, +) < other.reduce(0, +) * 0.8)
    }

    /// - Returns: the estimate in kbit/s so many seconds after a drop from 3 to 0.6 Mbit/s.
    private func recovery(
        _ seed: UInt64, _ framesPerSecond: Int, seconds: Int
    ) -> (_ secondsAfter: Int) -> Int {
        var options = SimulatedCall.Options()
        options.startBitrate = .kilobits(1_000)
        let call = SimulatedCall(
            seed: seed, Self.wide, changes: [(.seconds(20), Self.narrow), (.seconds(20 + seconds), Self.wide)],
            plan: .adaptive(perSecond: framesPerSecond, limit: .kilobits(8_000)), options: options)
        call.run(for: .seconds(36 + seconds))
        print(call.summary)
        for second in 18...(32 + seconds) { print(second, call.estimate(at: .seconds(second)).kilobitsPerSecond) }
        #expect((350...680).contains(call.estimate(at: .seconds(20 + seconds)).kilobitsPerSecond))
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        return { call.estimate(at: .seconds(20 + seconds + $0)).kilobitsPerSecond }
    }

    @Test func theEstimateSurvivesAPause() {
        let conditions = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(5_000))
        let call = SimulatedCall(seed: 5, conditions, plan: .adaptive(perSecond: 30, limit: .kilobits(8_000)))
        call.after(.seconds(15)) { $0.plan = .steady(perSecond: 2, bytes: 400) }
        call.after(.seconds(75)) { $0.plan = .adaptive(perSecond: 30, limit: .kilobits(8_000)) }
        call.run(for: .seconds(76))
        print(call.summary)
        #expect(call.estimate(at: .milliseconds(74_900)).kilobitsPerSecond >= 2_500)
    }

    @Test(arguments: [1_000, 3_000, 10_000])
    func theRateIsFoundWithinSecondsOfTheStart(kilobits: Int) {
        let conditions = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(kilobits))
        let call = SimulatedCall(
            seed: 7, conditions, plan: .adaptive(perSecond: 30, limit: .kilobits(20_000)))
        call.run(for: .seconds(10))
        print(kilobits, call.summary, call.shown.first?.latency.inMilliseconds ?? -1)
        for tenth in stride(from: 2, to: 100, by: 8) {
            print(tenth * 100, call.estimate(at: .milliseconds(tenth * 100)).kilobitsPerSecond)
        }
        #expect(call.estimate(at: .seconds(5)).kilobitsPerSecond >= kilobits * 6 / 10)
        #expect(call.estimate(at: .seconds(9)).kilobitsPerSecond <= kilobits * 12 / 10)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func anOutageOfTwoSecondsIsOverWithinOne(seed: UInt64) {
        let up = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(5_000))
        var down = up
        down.isDown = true
        let call = SimulatedCall(
            seed: seed, up, changes: [(.seconds(10), down), (.seconds(12), up)],
            plan: .adaptive(perSecond: 30, limit: .kilobits(2_500)))
        call.run(for: .seconds(20))
        print(call.summary)
        let back = call.since(.seconds(12)).first { $0.captured >= SimulatedCall.start + .seconds(12) }
        print("live again after", (back.map { ($0.shown - SimulatedCall.start).inMilliseconds } ?? 99_999) - 12_000)
        #expect(back != nil && (back?.shown ?? call.now) <= SimulatedCall.start + .seconds(13))
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.estimate(at: .seconds(15)).kilobitsPerSecond >= 1_200)
    }

    @Test func withoutTransportFeedbackReportsAreEnough() {
        var options = SimulatedCall.Options()
        options.usesTransportFeedback = false
        options.startBitrate = .kilobits(1_000)
        let conditions = SimulatedLink.Conditions(delay: .milliseconds(25), rate: .kilobits(3_000))
        let call = SimulatedCall(
            seed: 9, conditions, plan: .adaptive(perSecond: 30, limit: .kilobits(2_000)), options: options)
        call.run(for: .seconds(30))
        print(call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.estimate(at: .seconds(29)).kilobitsPerSecond >= 1_500)
        #expect(call.longestFreeze <= .milliseconds(500))
    }

    /// Receiver reports arrive once a second, and contain only the loss and the round trip time.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func reportsAloneFollowADrop(seed: UInt64) {
        let place = SimulatedBottleneck([(0, 2_500), (30, 800), (60, 2_000)])
        var options = SimulatedCall.Options()
        options.usesTransportFeedback = false
        options.startBitrate = .kilobits(1_000)
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(50)), plan: .camera(perSecond: 30, limit: .kilobits(8_000)),
            options: options)
        call.forward.bottleneck = (place, 0)
        call.run(for: .seconds(100))
        let queue = place.waits(from: 10, to: 30).sorted() + place.waits(from: 36, to: 100).sorted()
        let sorted = queue.sorted()
        print("reports", call.summary, sorted[sorted.count * 95 / 100])
        #expect(place.carried(from: 15, to: 30) >= 0.7 * 2.5e6)
        #expect(place.carried(from: 40, to: 60) >= 0.6 * 0.8e6)
        #expect(place.carried(from: 80, to: 100) >= 0.7 * 2e6)
        #expect(place.offered(from: 36, to: 60) < 1.05 * 0.8e6)
        #expect(sorted[sorted.count * 95 / 100] < 250)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
    }

    /// A REMB limits the estimate soon, for as long as it is repeated. It is ignored next to transport-wide feedback.
    @Test(arguments: [false, true])
    func aReceiversEstimateLimitsTheRate(usesTransportFeedback: Bool) throws {
        var options = SimulatedCall.Options()
        options.usesTransportFeedback = usesTransportFeedback
        options.usesREMB = true
        let call = SimulatedCall(
            seed: 11, .init(delay: .milliseconds(25), rate: .kilobits(5_000)),
            plan: .camera(perSecond: 30, limit: .kilobits(8_000)), options: options)
        let said = [(2...11, 900), (12...24, 3_000), (25...25, 0), (26...26, 1 << 40), (27...34, 1_500)]
        for (seconds, kilobits) in said {
            var bytes = [UInt8](repeating: 0, count: 64)
            let length = try bytes.withUnsafeMutableBytes { buffer in
                var writer = ByteWriter(buffer)
                try REMB.write(
                    senderSSRC: 9, mediaSSRC: 0x1111, bitrate: .kilobits(kilobits), into: &writer)
                return writer.position
            }
            let packet = Array(bytes[0..<length])
            for second in seconds { call.after(.seconds(second)) { $0.deliver([packet]) } }
        }
        call.run(for: .seconds(80))
        let estimates = [11, 24, 43, 79].map { call.estimate(at: .seconds($0)).kilobitsPerSecond }
        print("remb", usesTransportFeedback, estimates, call.summary)
        if usesTransportFeedback {
            #expect(estimates.allSatisfy { $0 >= 3_500 })
        } else {
            #expect(estimates[0] == 900 && (1_300...1_500).contains(estimates[2]))
            #expect((2_400...3_000).contains(estimates[1]))
            #expect(estimates[3] > 2_000, "nobody says so any more")
            #expect(call.estimate(at: .milliseconds(25_500)) >= .kilobits(100))
        }
    }
}
