import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing

/// Forged acknowledgements, requests and retransmissions are counted and bounded, and video goes on.
@Suite struct HostileReferenceTests {
    private static let video = VideoStreamParameters(
        ssrc: 0x1111, payloadType: 96, rtxSSRC: 0x2222, rtxPayloadType: 97, mid: "0")
    private static let extensions: HeaderExtensionMap = [.transportSequence: 3, .mid: 1, .frameReferences: 5]

    private func sender(hasReferences: Bool = true) -> MediaSender {
        var extensions = Self.extensions
        if !hasReferences { extensions[.frameReferences] = nil }
        return MediaSender(
            SenderParameters(
                video: Self.video, audio: [], extensions: extensions, cname: "h", startBitrate: .kilobits(2_500),
                maximumBitrate: .kilobits(10_000), usesTransportFeedback: true), seed: 1,
            ntpEpoch: NTPTimestamp(rawValue: 0), now: SimulatedCall.start)
    }

    private func receiver() -> MediaReceiver {
        MediaReceiver(
            ReceiverParameters(
                video: Self.video, audio: [], extensions: Self.extensions, cname: "v", localSSRC: 9,
                usesTransportFeedback: true), seed: 1, ntpEpoch: NTPTimestamp(rawValue: 0), now: SimulatedCall.start)
    }

    private struct Drained {
        var packets: [[UInt8]] = []
        var keyframes = 0
        var recoveries: [UInt32] = []
        var bytes = 0
    }

    private func drain(_ sender: MediaSender, _ now: MediaInstant) -> Drained {
        var result = Drained()
        var buffer = [UInt8](repeating: 0, count: 1_500)
        buffer.withUnsafeMutableBytes { bytes in
            for _ in 0..<20_000 {
                switch sender.poll(now: now, into: bytes) {
                case .rtp(let length), .protected(let length):
                    result.packets.append(Array(bytes[0..<length]))
                    result.bytes += length
                case .event(.keyframeNeeded): result.keyframes += 1
                case .event(.recoveryNeeded(let number)): result.recoveries.append(number)
                case .rtcp, .event: break
                case .wait: return
                }
            }
            Issue.record("the sender never waits")
        }
        return result
    }

    private func shown(_ receiver: MediaReceiver, _ packets: [[UInt8]], _ now: MediaInstant) -> [ReceivedFrame] {
        var frames: [ReceivedFrame] = []
        var buffer = [UInt8](repeating: 0, count: 1_500)
        for packet in packets { packet.withUnsafeBytes { receiver.handleRTP($0, now: now) } }
        buffer.withUnsafeMutableBytes { bytes in
            for _ in 0..<10_000 {
                switch receiver.poll(now: now, into: bytes) {
                case .frame(_, let info): frames.append(info)
                case .wait: return
                default: break
                }
            }
            Issue.record("the receiver never waits")
        }
        return frames
    }

    private func feed(
        _ sender: MediaSender, _ number: UInt32, isKeyframe: Bool = false, stored: ReferenceSlot? = nil,
        source: FrameReferences.Recovery? = nil, _ now: MediaInstant
    ) {
        SimulatedFrames.make(Int(number), isKeyframe: isKeyframe, length: 900).withUnsafeBytes {
            sender.handleFrame(
                $0,
                FrameInfo(
                    of: $0, isKeyframe: isKeyframe, captured: now,
                    references: FrameReferences(number: number, stored: stored, source: source)),
                now: now)
        }
    }

    private func control(_ sender: MediaSender, _ now: MediaInstant, _ body: (inout ByteWriter) throws -> Void) throws {
        var buffer = [UInt8](repeating: 0, count: 1_500)
        try buffer.withUnsafeMutableBytes { bytes in
            var writer = ByteWriter(bytes)
            try body(&writer)
            sender.handleRTCP(writer.written, now: now)
        }
    }

    @Test(arguments: [true, false])
    func inventedAcknowledgementsAreCountedAndChangeNothing(hasReferences: Bool) throws {
        var random = SeededGenerator(seed: 5)
        let sender = sender(hasReferences: hasReferences)
        var now = SimulatedCall.start
        feed(sender, 0, isKeyframe: true, now)
        _ = drain(sender, now)
        var asked = 0
        for _ in 0..<3_000 {
            // As many as the RTCP work limit allows.
            now = now + .milliseconds(2)
            try control(sender, now) { writer in
                for _ in 0..<20 {
                    try ReferencePictureSelectionIndication(
                        senderSSRC: 9, mediaSSRC: 0x1111, payloadType: 96,
                        pictureID: UInt16.random(in: 0...0x7FFF, using: &random)
                    ).write(into: &writer)
                }
                try PictureLossIndication(senderSSRC: 9, mediaSSRC: 0x1111).write(into: &writer)
            }
            let result = drain(sender, now)
            asked += result.keyframes + result.recoveries.count
        }
        // One in 32,768 is right by chance.
        #expect(sender.statistics.video.referencesUnknown > 59_000)
        #expect(sender.statistics.video.keyframeRequests == 3_000)
        // Each request is passed on at most once; the video thread keeps key frames 1 s apart, and recovery frames 300
        // ms.
        #expect(asked <= 3_000)
        if !hasReferences { #expect(!sender.hasAcknowledged && sender.statistics.video.recoveryRequests == 0) }
    }

    @Test func acknowledgementsOfOtherStreamsAndBrokenOnesAreNothing() throws {
        let sender = sender()
        let now = SimulatedCall.start
        feed(sender, 0, isKeyframe: true, now)
        _ = drain(sender, now)
        try control(sender, now) { writer in
            try ReferencePictureSelectionIndication(senderSSRC: 9, mediaSSRC: 0x7777, payloadType: 96, pictureID: 1)
                .write(into: &writer)
        }
        #expect(sender.statistics.rtcp.unknownSSRC == 1)
        // Padding bits; a 7-bit PictureID; the reserved bit set.
        for word in [[0x08, 96, 0x80, 1], [0, 96, 0x00, 1], [0, 0x80 | 96, 0x80, 1]] as [[UInt8]] {
            let packet = [0x83, 206, 0, 3, 0, 0, 0, 9, 0, 0, 0x11, 0x11] as [UInt8] + word
            packet.withUnsafeBytes { sender.handleRTCP($0, now: now) }
        }
        #expect(sender.statistics.rtcp.malformed == 3)
        #expect(!sender.hasAcknowledged)
    }

    /// A recovery frame from a reference that the viewer does not have is not shown, and a key frame is requested.
    @Test func aFrameFromAnUnknownOneIsNotShown() {
        let sender = sender()
        let receiver = receiver()
        var now = SimulatedCall.start
        feed(sender, 0, isKeyframe: true, now)
        #expect(shown(receiver, drain(sender, now).packets, now).count == 1)
        now = now + .milliseconds(33)
        // The encoder stores this frame as a long-term reference; the path loses it.
        feed(sender, 1, stored: .golden, now)
        #expect(!drain(sender, now).packets.isEmpty)
        now = now + .milliseconds(33)
        feed(sender, 2, now)
        #expect(shown(receiver, drain(sender, now).packets, now).isEmpty)
        now = now + .milliseconds(33)
        feed(sender, 3, stored: .alternate, source: .init(slot: .golden, number: 1), now)
        #expect(shown(receiver, drain(sender, now).packets, now).isEmpty)
        now = now + .milliseconds(600)
        _ = shown(receiver, [], now)
        #expect(receiver.statistics.requests.keyframes == 1)
        // A recovery frame from the key frame, which the viewer has, is shown at once. The encoder stores it in the
        // other buffer.
        now = now + .milliseconds(33)
        let other = self.sender()
        let second = self.receiver()
        feed(other, 0, isKeyframe: true, now)
        #expect(shown(second, drain(other, now).packets, now).count == 1)
        feed(other, 1, stored: .golden, now)
        _ = drain(other, now)
        feed(other, 2, stored: .golden, source: .init(slot: .alternate, number: 0), now)
        let back = shown(second, drain(other, now).packets, now)
        #expect(back.count == 1 && back.first?.isKeyframe == false)
        #expect(second.statistics.video.recoveries == 1)
    }

    @Test func afterTheDecoderFailedOnlyAKeyFrameHelps() {
        let sender = sender()
        let receiver = receiver()
        var now = SimulatedCall.start
        feed(sender, 0, isKeyframe: true, now)
        #expect(shown(receiver, drain(sender, now).packets, now).count == 1)
        receiver.requestKeyframe(now: now)
        now = now + .milliseconds(33)
        feed(sender, 1, stored: .golden, source: .init(slot: .alternate, number: 0), now)
        #expect(shown(receiver, drain(sender, now).packets, now).isEmpty)
        feed(sender, 2, isKeyframe: true, now)
        #expect(shown(receiver, drain(sender, now).packets, now).count == 1)
    }

    /// NACKs for all packets again and again, and for packets that were never sent: no more is sent than the path may
    /// carry.
    @Test func aStormOfRequestsIsBounded() throws {
        let sender = sender()
        var now = SimulatedCall.start
        for number in 0..<40 {
            now = now + .milliseconds(25)
            feed(sender, UInt32(number), isKeyframe: number == 0, now)
            _ = drain(sender, now)
        }
        var bytes = 0
        let start = now
        for _ in 0..<500 {
            now = now + .milliseconds(4)
            try control(sender, now) { writer in
                var nack = NackWriter(senderSSRC: 9, mediaSSRC: 0x1111)
                for number in stride(from: 0, to: 65_536, by: 257) {
                    try nack.append(SequenceNumber(UInt16(truncatingIfNeeded: number)), into: &writer)
                }
            }
            for _ in 0..<8 {
                try control(sender, now) { writer in
                    var nack = NackWriter(senderSSRC: 9, mediaSSRC: 0x1111)
                    for number in 0..<300 {
                        try nack.append(SequenceNumber(UInt16(truncatingIfNeeded: number &* 218)), into: &writer)
                    }
                }
            }
            bytes += drain(sender, now).bytes
        }
        // Of 1.3 million requests, as many as the RTCP work limit allows.
        #expect(sender.statistics.retransmission.nacksIgnored > 100_000)
        #expect(sender.statistics.rtcp.overLimit > 3_000)
        // 40 packets, ten times each at most, and a few tail loss probes.
        #expect(sender.statistics.retransmission.packets <= 40 * 10 + 10)
        #expect(Double(bytes) <= (now - start).inSeconds * 2_500_000 / 8 * 2.5 + 50_000)
    }

    /// RTX packets with numbers that were never missing are not shown, and do not block the video.
    @Test(arguments: [1, 2] as [UInt64])
    func retransmissionsOfUnknownNumbersAreDropped(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sender = sender()
        let receiver = receiver()
        var now = SimulatedCall.start
        var count = 0
        for number in 0..<360 {
            now = now + .milliseconds(33)
            feed(sender, UInt32(number), isKeyframe: number % 10 == 0, now)
            let packets = drain(sender, now).packets
            let pictures = shown(receiver, packets, now).count
            if number >= 300 { count += pictures }
            guard number < 240, let packet = packets.first(where: { $0[1] & 0x7F == 96 }) else { continue }
            for _ in 0..<5 {
                var copy = packet
                let claimed = UInt16.random(in: 0...65_535, using: &random)
                copy[2] = UInt8(claimed >> 8)
                copy[3] = UInt8(claimed & 255)
                var wrapped = [UInt8](repeating: 0, count: 1_500)
                let length = try copy.withUnsafeBytes { bytes in
                    try wrapped.withUnsafeMutableBytes {
                        try RTX.wrap(
                            RTPPacketView(bytes), of: bytes, ssrc: 0x2222, payloadType: 97,
                            sequenceNumber: SequenceNumber(UInt16.random(in: 0...65_535, using: &random)), into: $0)
                    }
                }
                _ = shown(receiver, [Array(wrapped[0..<length])], now)
            }
        }
        // A forged number just ahead may block the video until the next key frame.
        #expect(count >= 45, "\(count)")
        #expect(receiver.statistics.drops.total > 1_000)
    }
}
