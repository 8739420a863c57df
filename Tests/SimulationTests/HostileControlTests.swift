import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing

/// RTCP that claims large counts in few bytes. The work that it causes is bounded, and an honest viewer never reaches
/// the bound.
@Suite struct HostileControlTests {
    /// The work that `RTCPWorkLimiter` allows one peer per second, and at once.
    private static let (rate, burst) = (50_000, 25_000)

    private func sender(packets: Int = 0, at now: MediaInstant = SimulatedCall.start) -> MediaSender {
        let video = VideoStreamParameters(ssrc: 0x1111, payloadType: 96, rtxSSRC: 0x2222, rtxPayloadType: 97, mid: "0")
        let sender = MediaSender(
            SenderParameters(
                video: video, audio: [],
                extensions: [.transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1],
                cname: "h",
                startBitrate: .kilobits(100_000), maximumBitrate: .kilobits(100_000), usesTransportFeedback: true),
            seed: 1, ntpEpoch: NTPTimestamp(rawValue: 0), now: SimulatedCall.start)
        guard packets > 0 else { return sender }
        let frame = SimulatedFrames.make(1, isKeyframe: true, length: packets * 1_000)
        frame.withUnsafeBytes { sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: true, captured: now), now: now) }
        // A frame of many packets is sent over some milliseconds.
        for millisecond in 0..<4 { drain(sender, now + .milliseconds(millisecond)) }
        return sender
    }

    private func drain(_ sender: MediaSender, _ now: MediaInstant) {
        var buffer = [UInt8](repeating: 0, count: 1_500)
        buffer.withUnsafeMutableBytes { bytes in
            while true { if case .wait = sender.poll(now: now, into: bytes) { return } }
        }
    }

    /// A transport-wide feedback message with any content.
    private func feedback(base: Int, count: Int, chunks: [UInt16], deltas: [UInt8] = []) -> [UInt8] {
        var body: [UInt8] = [0, 0, 0, 9, 0, 0, 0x11, 0x11]
        for word in [UInt16(truncatingIfNeeded: base), UInt16(count), 0, 0] + chunks {
            body += [UInt8(word >> 8), UInt8(word & 0xFF)]
        }
        body += deltas
        while body.count % 4 != 0 { body.append(0) }
        return [0x8F, 205, UInt8((body.count / 4) >> 8), UInt8(body.count / 4 & 0xFF)] + body
    }

    /// Returns as many copies as fit into a datagram.
    private func datagram(_ packet: [UInt8]) -> [UInt8] {
        Array(repeating: packet, count: 1_200 / packet.count).flatMap { $0 }
    }

    private func deliver(_ datagram: [UInt8], to sender: MediaSender, _ now: MediaInstant) {
        datagram.withUnsafeBytes { sender.handleRTCP($0, now: now) }
    }

    /// The worst messages of each kind, as often as 1 Mbit/s allows.
    enum Attack: String, CaseIterable {
        /// 65,535 packets reported as lost in 36 bytes, 33 times in a datagram.
        case runsOfLost
        /// The same about packets that were sent, so that each status has to be processed.
        case lostOfWhatWasSent
        /// Reported as lost in vector chunks of 14 statuses, which cannot be skipped.
        case lostOneByOne
        /// 17 sequence numbers in 4 bytes.
        case nacks
        case reports
        case estimates
        case pictureLosses
        case emptyPackets
    }

    @Test(arguments: Attack.allCases)
    func theWorkASecondIsBounded(attack: Attack) throws {
        let sender = sender(packets: 1_500)
        let sent = sender.statistics.packetsSent
        #expect(sent >= 40)
        let bytes: [UInt8]
        switch attack {
        case .runsOfLost:
            bytes = datagram(feedback(base: 1, count: 65_535, chunks: Array(repeating: 8_191, count: 8) + [7]))
        case .lostOfWhatWasSent: bytes = feedback(base: 1, count: sent, chunks: [UInt16(sent)])
        case .lostOneByOne: bytes = feedback(base: 1, count: 8_120, chunks: Array(repeating: 0x8000, count: 580))
        case .nacks:
            bytes =
                [0x81, 205, 1, 0x2B, 0, 0, 0, 9, 0, 0, 0x11, 0x11]
                + (0..<297).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF), 0xFF, 0xFF] as [UInt8] }
        case .reports:
            let block: [UInt8] = [0, 0, 0x11, 0x11, 255, 0, 0, 1, 0, 0, 9, 9] + [UInt8](repeating: 7, count: 12)
            bytes = datagram([0x9F, 201, 0, 187, 0, 0, 0, 9] + Array(repeating: block, count: 31).flatMap { $0 })
        case .estimates:
            bytes = datagram([
                0x8F, 206, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42, 0, 4, 0, 0,
            ])
        case .pictureLosses: bytes = datagram([0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0x11, 0x11])
        case .emptyPackets: bytes = datagram([0x80, 204, 0, 0])
        }
        let before = sender.statistics.rtcp.work
        // With the bytes of UDP, IP and SRTCP.
        let pause = Bitrate.kilobits(1_000).duration(ofBytes: bytes.count + 42)
        var now = SimulatedCall.start
        var datagrams = 0
        while now < SimulatedCall.start + .seconds(10) {
            deliver(bytes, to: sender, now)
            now = now + pause
            datagrams += 1
        }
        let statistics = sender.statistics
        print("control", attack, datagrams, "datagrams, work", statistics.rtcp.work, statistics.rtcp.overLimit)
        #expect(statistics.rtcp.work - before <= 10 * Self.rate + Self.burst)
        #expect(statistics.rtcp.malformed == 0)
    }

    @Test func numbersThatWereNeverSentAreIgnored() {
        let sender = sender(packets: 100)
        let sent = sender.statistics.packetsSent
        // Feedback from the first number on, then only about numbers that were not sent yet.
        deliver(feedback(base: 1, count: 8_191, chunks: [8_191]), to: sender, SimulatedCall.start)
        #expect(sender.statistics.rtcp.work == 4 + 16 + sent)
        #expect(sender.statistics.rtcp.feedbackUnknown == 8_191 - sent)
        deliver(feedback(base: sent + 1, count: 8_191, chunks: [8_191]), to: sender, SimulatedCall.start)
        #expect(sender.statistics.rtcp.work == 4 + 16 + sent + 4)
        #expect(sender.statistics.rtcp.feedbackUnknown == 2 * 8_191 - sent)
    }

    @Test func moreStatusesThanTheHistoryHoldsAreUnknown() {
        let sender = sender(packets: 100)
        deliver(feedback(base: 1, count: 8_193, chunks: [8_191, 2]), to: sender, SimulatedCall.start)
        #expect(sender.statistics.rtcp.work == 4)
        #expect(sender.statistics.rtcp.feedbackUnknown == 8_193)
    }

    @Test func ofSeveralFeedbackMessagesInADatagramTheFirstCounts() {
        let sender = sender(packets: 100)
        let one = feedback(base: 1, count: 10, chunks: [10])
        let other = feedback(base: 11, count: 10, chunks: [10])
        deliver(one + other + other, to: sender, SimulatedCall.start)
        #expect(sender.statistics.rtcp.feedbackPackets == 3)
        #expect(sender.statistics.rtcp.work == 3 * 4 + 16 + 10)
        deliver(other, to: sender, SimulatedCall.start)
        #expect(sender.statistics.rtcp.work == 4 * 4 + 2 * (16 + 10))
    }

    @Test func aViewerOverTheBudgetIsServedASecondLater() {
        let sender = sender(packets: 100)
        let pictureLoss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0x11, 0x11]
        for _ in 0..<100 { deliver(datagram([0x80, 204, 0, 0]), to: sender, SimulatedCall.start) }
        deliver(pictureLoss, to: sender, SimulatedCall.start)
        #expect(sender.statistics.rtcp.overLimit > 0)
        #expect(sender.statistics.video.keyframeRequests == 0)
        deliver(pictureLoss, to: sender, SimulatedCall.start + .seconds(1))
        #expect(sender.statistics.video.keyframeRequests == 1)
    }

    @Test(arguments: [0.0, 5, 20])
    func anHonestViewerStaysFarBelowTheBudget(lossPercent: Double) {
        var options = SimulatedCall.Options()
        options.maximumBitrate = .kilobits(50_000)
        let call = SimulatedCall(
            seed: 3, .init(delay: .milliseconds(25), lossPercent: lossPercent),
            plan: .camera(perSecond: 60, limit: .kilobits(50_000)), options: options)
        call.run(for: .seconds(20))
        let statistics = call.sender.statistics
        print("honest", lossPercent, statistics.rtcp.work, statistics.packetsSent, call.summary)
        #expect(statistics.rtcp.overLimit == 0)
        #expect(statistics.rtcp.work < 20 * Self.rate / 3)
    }
}
