import MediaCore
import MediaEngine
import RTPWire
import Testing

/// A still screen causes no traffic but reports, and wraps of sequence numbers have no effect.
@Suite struct IdleScreenTests {
    @Test func tenIdleMinutesCostAReportASecondFromEachSide() {
        var options = SimulatedCall.Options()
        options.hasReferences = true
        let call = SimulatedCall(seed: 1, plan: .still, options: options)
        call.run(for: .seconds(5))
        let before = (call.forward.carried, call.backward.carried, call.polls, call.forward.carriedBytes)
        call.run(for: .seconds(600))
        print(call.summary)
        #expect(call.shown.count == 1 && call.shownAgain.isEmpty)
        #expect(call.forward.carried - before.0 <= 620)
        #expect(call.backward.carried - before.1 <= 620)
        #expect(call.polls - before.2 <= 6 * 1_240)
        // Under 1 kbit/s.
        #expect((call.forward.carriedBytes - before.3) * 8 / 600 <= 1_000)
    }

    /// Chromium and Firefox request a key frame after 3 s without a frame.
    /// Also if the owner of the sender encrypts frames, and so has to make them.
    @Test(arguments: [(0.0, true, true), (5, true, true), (0, false, false), (5, true, false)], [false, true])
    func aForeignViewerGetsASkipFrameEachTwoSeconds(
        link: (percent: Double, hasRTX: Bool, usesTransportFeedback: Bool), sealsFrames: Bool
    ) {
        let (percent, hasRTX, usesTransportFeedback) = link
        var options = SimulatedCall.Options()
        options.sealsFrames = sealsFrames
        options.hasRTX = hasRTX
        options.usesTransportFeedback = usesTransportFeedback
        let call = SimulatedCall(
            seed: 2, .init(delay: .milliseconds(25), lossPercent: percent), plan: .still, options: options)
        call.run(for: .seconds(5))
        let (shown, bytes) = (call.shownAgain.count, call.forward.carriedBytes)
        call.run(for: .seconds(60))
        print(call.summary, "again", call.shownAgain.count)
        #expect(call.keyframesMade == 1 && call.shown.count == 1 && call.damaged == 0)
        #expect(call.shownAgain.count - shown >= 28)
        let gaps = zip(call.shownAgain, call.shownAgain.dropFirst()).map { $1 - $0 }
        #expect((gaps.max() ?? .seconds(60)) <= .milliseconds(percent > 0 ? 2_900 : 2_500))
        #expect((call.forward.carriedBytes - bytes) * 8 / 60 < 20_000)
        // A skip frame does not count as a frame.
        #expect(call.sender.statistics.video.frames == 1 && call.sender.framesSent == 1)
    }

    /// A skip frame repeats the last base layer frame, and must not undo a newer frame of layer 1.
    @Test func noSkipFrameFollowsAFrameOfLayerOne() {
        let call = SimulatedCall(seed: 3, plan: .still)
        call.run(for: .seconds(1))
        let upper = SimulatedFrames.make(0, isKeyframe: false, length: 900)
        upper.withUnsafeBytes {
            call.sender.handleFrame(
                $0, FrameInfo(of: $0, isKeyframe: false, layer: 1, captured: call.now), now: call.now)
        }
        call.run(for: .seconds(10))
        #expect(call.shownAgain.isEmpty && call.sender.statistics.video.skipFrames == 0)
        upper.withUnsafeBytes {
            call.sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: false, captured: call.now), now: call.now)
        }
        call.run(for: .seconds(5))
        #expect(call.sender.statistics.video.skipFrames == 2)
    }

    @Test func sequenceNumbersWrapUnnoticed() {
        // 32 packets a frame, 30 frames a second: 65,536 packets in 68 s.
        let call = SimulatedCall(
            seed: 3, .init(delay: .milliseconds(10), lossPercent: 1), plan: .steady(perSecond: 30, bytes: 36_000))
        call.run(for: .seconds(75))
        print(call.summary)
        #expect(call.sender.statistics.packetsSent > 65_536)
        #expect(call.damaged == 0 && call.outOfOrder == 0)
        #expect(call.shown.count >= call.made.count - 2)
        #expect(call.longestFreeze <= .milliseconds(300))
    }

    @Test func byeEndsTheReceiver() {
        let call = SimulatedCall(seed: 4, plan: .steady(perSecond: 30, bytes: 2_000))
        call.run(for: .seconds(1))
        call.sender.end(now: call.now)
        call.run(for: .seconds(2))
        #expect(call.didEnd)
    }

    @Test(arguments: [(0.0, 0, 1), (0, 30, 2), (5, 0, 6), (5, 60, 4)] as [(Double, Int, UInt64)])
    func audioComesInOrderWithoutLongGaps(percent: Double, jitter: Int, seed: UInt64) {
        var options = SimulatedCall.Options()
        options.audioTracks = 1
        let call = SimulatedCall(
            seed: seed, .init(delay: .milliseconds(25), jitter: .milliseconds(jitter), lossPercent: percent),
            plan: .steady(perSecond: 10, bytes: 2_000), options: options)
        call.run(for: .seconds(20))
        let lost = call.audio.filter(\.isLost)
        print(
            percent, jitter, "sound", call.audio.count, "lost", lost.count, "fec", lost.filter(\.useFEC).count, "late",
            call.receiver.statistics.audioLate, "delay", call.receiver.statistics.audioDelay.inMilliseconds)
        #expect(call.audio.count >= 980)
        #expect(Double(lost.count) <= 10 + 1_000 * (percent + 3) / 100)
        var longest = MediaDuration.zero
        for index in call.audio.indices.dropFirst(100) {
            longest = max(longest, call.audio[index].at - call.audio[index - 1].at)
        }
        #expect(longest <= .milliseconds(60 + jitter))
    }

    /// Pion's receivers report what came in each 100 ms, but nothing if that was one packet. Skip frames come alone. With no
    /// message at all, receiver reports show that packets arrive.
    @Test(arguments: [true, false])
    func aReceiverThatReportsNoSinglePacketGetsAChangeAtOnce(sendsEmpty: Bool) {
        let empty: [UInt8] = [0x8F, 205, 0, 4, 0, 0, 0x44, 0x44, 0, 0, 0x11, 0x11, 0, 0, 0, 0, 0, 0, 0, 0]
        let screen = SimulatedScreen(least: 20_000, most: 60_000, seed: 5)
        var options = SimulatedCall.Options()
        options.hasRTX = false
        let call = SimulatedCall(
            seed: 5, .init(delay: .milliseconds(10)), back: .init(delay: .milliseconds(10)), plan: .screen(screen),
            options: options)
        call.tamper = { datagram, _ in
            datagram.withUnsafeBytes { bytes in
                var packets = RTCPIterator(bytes)
                while let packet = try? packets.next() {
                    if case .transportFeedback(let feedback) = packet, feedback.receivedCount < 2 { return [] }
                }
                return [datagram]
            }
        }
        for tick in 1..<400 where sendsEmpty {
            call.after(.milliseconds(tick * 100)) { $0.deliver([empty]) }
        }
        let changes = [9_700, 20_100, 33_250]
        for change in changes { call.after(.milliseconds(change)) { _ in screen.turn(least: 20_000, most: 60_000) } }
        call.run(for: .seconds(40))
        for change in changes {
            let begin = SimulatedCall.start + .milliseconds(change)
            let shown = call.shown.first { $0.captured >= begin }
            let latency = shown.map { ($0.shown - begin).inMilliseconds } ?? .infinity
            print("empty \(sendsEmpty): shown after \(latency) ms;", call.summary)
            #expect(latency <= 90)
        }
        #expect(call.keyframesMade == 1)
        if sendsEmpty { #expect(call.sender.statistics.path.stalls == 0) }
    }
}
