import MediaCore
import MediaEngine
import RTPWire
import Testing

/// The effects of loss, reordering and duplication on video. Each case prints its seed; the same seed gives the same
/// call.
@Suite struct LossTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func withoutLossEveryFrameIsShownAsSoonAsItArrives(seed: UInt64) {
        let call = SimulatedCall(seed: seed, plan: .steady(perSecond: 30, bytes: 8_000))
        call.run(for: .seconds(10))
        print(call.summary)
        #expect(call.shown.count >= call.made.count - 1)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.keyframesMade == 1)
        // The path's delay is 25 ms; nothing is added.
        #expect(call.latency(percentile: 0.99, from: .seconds(1)) <= .milliseconds(26))
        #expect(call.sender.statistics.retransmission.packets - call.sender.statistics.retransmission.probePackets <= 2)
        #expect(call.sender.statistics.retransmission.unrequestedDuplicates == 0)
    }

    @Test(arguments: [(1.0, 1), (1, 2), (5, 3), (5, 4), (5, 5), (10, 6), (10, 7)] as [(Double, UInt64)])
    func lossIsRepairedBeforeItIsNoticed(percent: Double, seed: UInt64) {
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(25), lossPercent: percent),
            plan: .steady(perSecond: 30, bytes: 6_000))
        call.run(for: .seconds(30))
        print("loss", percent, call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.shown.count >= call.made.count - (percent < 10 ? 3 : 30))
        #expect(call.longestFreeze <= .milliseconds(percent < 10 ? 400 : 600))
    }

    /// Once Firefox has seen a MID on one stream of a media section, it ignores the streams of the section without it:
    /// all RTX packets would be lost, or all video.
    @Test func everyStreamCarriesItsMID() {
        var options = SimulatedCall.Options()
        options.audioTracks = 1
        let call = SimulatedCall(
            seed: 8, .init(delay: .milliseconds(25), lossPercent: 5), plan: .steady(perSecond: 30, bytes: 6_000),
            options: options)
        var said: [UInt32: Set<String>] = [:]
        call.watch = { bytes in
            guard PacketKind(of: bytes) == .rtp, let packet = try? RTPPacketView(bytes) else { return }
            let mid = packet.values(of: [.mid: 1]).mid.map { String(decoding: $0, as: UTF8.self) }
            said[packet.ssrc, default: []].insert(mid ?? "nothing")
        }
        call.run(for: .seconds(5))
        #expect(said == [0x1111: ["0", "nothing"], 0x2222: ["0"], 0x3333: ["1"]])
    }

    @Test(arguments: [(0, 11), (5, 12), (25, 13), (100, 14)] as [(Int, UInt64)])
    func framesSurviveLossAtAnyDistance(delay: Int, seed: UInt64) {
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(delay), lossPercent: 5), plan: .steady(perSecond: 30, bytes: 6_000))
        call.run(for: .seconds(20))
        print("delay", delay, call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.shown.count >= call.made.count * 95 / 100)
        #expect(call.longestFreeze <= .milliseconds(300 + delay * 12))
    }

    @Test(arguments: [21, 22] as [UInt64])
    func reorderingCostsNoFrames(seed: UInt64) {
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(25), reorderPercent: 5, duplicatePercent: 2),
            plan: .steady(perSecond: 30, bytes: 8_000))
        call.run(for: .seconds(20))
        print(call.summary)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.shown.count >= call.made.count - 1)
        #expect(call.keyframesMade == 1)
        #expect(call.longestFreeze <= .milliseconds(100))
    }

    /// On a screen the next change may come minutes later, so the loss of the last packet must be repaired without it.
    @Test(arguments: 31...50 as ClosedRange<UInt64>)
    func theLastFrameBeforeAPauseArrivesEvenIfItsEndIsLost(seed: UInt64) {
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(25), lossPercent: 20), plan: .steady(perSecond: 30, bytes: 3_000))
        call.after(.seconds(3)) { $0.plan = .still }
        call.run(for: .seconds(6))
        #expect(call.shown.last?.number == (call.made.last?.number ?? -1), "\(call.summary)")
        if let last = call.shown.last { #expect(last.latency <= .milliseconds(1_500), "\(call.summary)") }
    }

    @Test func withoutRTXPacketsAreRetransmittedUnchanged() {
        var options = SimulatedCall.Options()
        options.hasRTX = false
        let call = SimulatedCall(
            seed: 61, .init(delay: .milliseconds(25), lossPercent: 5), plan: .steady(perSecond: 30, bytes: 6_000),
            options: options)
        call.run(for: .seconds(10))
        print(call.summary)
        #expect(call.shown.count >= call.made.count - 8)
        #expect(call.longestFreeze <= .milliseconds(400))
        #expect(call.protectedTwice == 0 && call.alteredRetransmissions == 0)
    }

    /// Pion 3 does so: its feedback acknowledges the RTX packets, and it requests the same packets again.
    @Test func aReceiverThatIgnoresRTXGetsPacketsUnchanged() {
        var options = SimulatedCall.Options()
        options.ignoresRTX = true
        let call = SimulatedCall(
            seed: 64, .init(delay: .milliseconds(10), lossPercent: 3), back: .init(delay: .milliseconds(10)),
            plan: .steady(perSecond: 30, bytes: 6_000), options: options)
        call.run(for: .seconds(20))
        print(call.summary)
        // All frames of the second half.
        let late = call.shown.filter { $0.number >= call.made.count / 2 }
        #expect(late.count >= call.made.count / 2 - 8)
        #expect(late.allSatisfy { $0.latency <= .milliseconds(400) })
        #expect(call.keyframesMade <= 6 && call.protectedTwice == 0 && call.alteredRetransmissions == 0)
    }

    /// Two round trips: one for the NACK, and one for a second NACK.
    @Test(arguments: [(true, 62), (false, 63)] as [(Bool, UInt64)])
    func withoutRTXLossesAreRepairedWithinTwoRoundTrips(usesTransportFeedback: Bool, seed: UInt64) {
        var options = SimulatedCall.Options()
        options.hasRTX = false
        options.usesTransportFeedback = usesTransportFeedback
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(40), lossPercent: 3), back: .init(delay: .milliseconds(40)),
            plan: .steady(perSecond: 30, bytes: 6_000), options: options)
        call.run(for: .seconds(20))
        print(call.summary)
        #expect(call.sender.statistics.retransmission.packets > 80 && call.receiver.statistics.requests.keyframes == 0)
        #expect(call.keyframesMade == 1 && call.shown.count >= call.made.count - 8)
        // A loss shows with the next frame. Some packets are lost twice, and some NACKs are lost.
        #expect(call.latency(percentile: 0.98) <= .milliseconds(40 + 33 + 2 * 80))
        #expect(call.latency(percentile: 1) <= .milliseconds(40 + 33 + 3 * 80))
        #expect(call.protectedTwice == 0 && call.alteredRetransmissions == 0)
        // Retransmissions with the same transport-wide number do not affect the estimate.
        #expect(call.sender.estimate >= .kilobits(2_000))
    }
}
