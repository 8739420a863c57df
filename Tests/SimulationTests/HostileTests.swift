import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing

/// Arbitrary bytes are at worst counted and dropped, and video goes on.
@Suite struct HostileTests {
    static let video = VideoStreamParameters(
        ssrc: 0x1111, payloadType: 96, rtxSSRC: 0x2222, rtxPayloadType: 97, mid: "0")
    static let audio = AudioStreamParameters(ssrc: 0x3333, payloadType: 111, mid: "1")
    static let extensions: HeaderExtensionMap = [.transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1]

    private func receiver() -> MediaReceiver {
        MediaReceiver(
            ReceiverParameters(
                video: Self.video, audio: [Self.audio], extensions: Self.extensions, cname: "v", localSSRC: 9,
                usesTransportFeedback: true), seed: 1, ntpEpoch: NTPTimestamp(rawValue: 0), now: SimulatedCall.start)
    }

    private func sender() -> MediaSender {
        MediaSender(
            SenderParameters(
                video: Self.video, audio: [Self.audio], extensions: Self.extensions, cname: "h",
                startBitrate: .kilobits(2_500), maximumBitrate: .kilobits(10_000), usesTransportFeedback: true),
            seed: 1,
            ntpEpoch: NTPTimestamp(rawValue: 0), now: SimulatedCall.start)
    }

    /// Polls until the receiver waits. A poll that never ends is a failure.
    private func drain(_ receiver: MediaReceiver, _ now: MediaInstant) -> (frames: Int, packets: Int) {
        var buffer = [UInt8](repeating: 0, count: 1_500)
        var frames = 0
        var packets = 0
        buffer.withUnsafeMutableBytes { bytes in
            for _ in 0..<10_000 {
                switch receiver.poll(now: now, into: bytes) {
                case .frame: frames += 1
                case .rtcp: packets += 1
                case .audio, .event: break
                case .wait(let until, _):
                    #expect(until > now)
                    return
                }
            }
            Issue.record("the receiver never waits")
        }
        return (frames, packets)
    }

    private func packets(_ sender: MediaSender, _ now: MediaInstant) -> [[UInt8]] {
        var buffer = [UInt8](repeating: 0, count: 1_500)
        var result: [[UInt8]] = []
        buffer.withUnsafeMutableBytes { bytes in
            for _ in 0..<20_000 {
                switch sender.poll(now: now, into: bytes) {
                case .rtp(let length), .protected(let length), .rtcp(let length):
                    result.append(Array(bytes[0..<length]))
                case .event: break
                case .wait(let until, _):
                    #expect(until > now)
                    return
                }
            }
            Issue.record("the sender never waits")
        }
        return result
    }

    private func feed(_ receiver: MediaReceiver, _ packet: [UInt8], _ now: MediaInstant) {
        packet.withUnsafeBytes { bytes in
            if PacketKind(of: bytes) == .rtcp {
                receiver.handleRTCP(bytes, now: now)
            } else {
                receiver.handleRTP(bytes, now: now)
            }
        }
    }

    private func keyframe(_ sender: MediaSender, _ number: Int, _ now: MediaInstant) {
        SimulatedFrames.make(number, isKeyframe: true, length: 3_000).withUnsafeBytes {
            sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: true, captured: now), now: now)
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func randomBytesAreDroppedAndVideoContinues(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let receiver = receiver()
        let sender = sender()
        var now = SimulatedCall.start
        var seen = 0
        for round in 0..<4_000 {
            now = now + .microseconds(Int.random(in: 0...4_000, using: &random))
            if round % 50 == 0 { keyframe(sender, round, now) }
            if round % 7 == 0 {
                [UInt8](repeating: 0x48, count: 90).withUnsafeBytes {
                    sender.handleAudio($0, track: 0, captured: now, now: now)
                }
            }
            for var packet in packets(sender, now) {
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    packet = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                        UInt8.random(in: 0...255, using: &random)
                    }
                case 1: packet.removeLast(Int.random(in: 1...packet.count, using: &random))
                case 2, 3:
                    for _ in 0..<Int.random(in: 1...6, using: &random) {
                        packet[Int.random(in: 0..<packet.count, using: &random)] = UInt8.random(
                            in: 0...255, using: &random)
                    }
                default: break
                }
                feed(receiver, packet, now)
            }
            seen += drain(receiver, now).frames
            let noise = (0..<Int.random(in: 0...120, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            noise.withUnsafeBytes {
                receiver.handleRTCP($0, now: now)
                sender.handleRTCP($0, now: now)
            }
        }
        #expect(seen > 0)
        #expect(receiver.statistics.drops.total > 0, "seed \(seed)")
    }

    /// Well-formed RTCP about packets that were never sent, in large numbers, and about other streams.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func inventedFeedbackNeitherTrapsNorRunsAway(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sender = sender()
        var now = SimulatedCall.start
        var keyframes = 0
        var sent = 0
        var buffer = [UInt8](repeating: 0, count: 1_500)
        for round in 0..<3_000 {
            now = now + .milliseconds(1)
            if round % 30 == 0 { keyframe(sender, round, now) }
            try buffer.withUnsafeMutableBytes { bytes in
                var writer = ByteWriter(bytes)
                var nack = NackWriter(senderSSRC: 9, mediaSSRC: 0x1111)
                for _ in 0..<40 {
                    try nack.append(SequenceNumber(UInt16.random(in: 0...65_535, using: &random)), into: &writer)
                }
                try PictureLossIndication(senderSSRC: 9, mediaSSRC: 0x1111).write(into: &writer)
                try FullIntraRequest.write(senderSSRC: 9, mediaSSRC: 0x1111, number: UInt8(round & 255), into: &writer)
                var report = try ReceiverReport.write(ssrc: 9, into: &writer)
                try report.append(
                    ReportBlock(
                        ssrc: 0x1111, fractionLost: UInt8.random(in: 0...255, using: &random), cumulativeLost: .max,
                        highestSequence: UInt32.random(in: 0 ... .max, using: &random), jitter: .max,
                        lastSenderReport: UInt32.random(in: 0 ... .max, using: &random),
                        delaySinceLastSenderReport: UInt32.random(in: 0 ... .max, using: &random)), into: &writer)
                var feedback = TransportFeedbackWriter(senderSSRC: 9, mediaSSRC: 0x1111, epoch: SimulatedCall.start)
                let first = Int64.random(in: 0...65_535, using: &random)
                let arrivals = (0..<20).map {
                    TransportArrival(
                        sequence: first + Int64($0 * 3),
                        arrival: now + .microseconds(Int.random(in: -5_000_000...5_000_000, using: &random)))
                }
                _ = try arrivals.withUnsafeBufferPointer { try feedback.write($0, base: first, into: &writer) }
                sender.handleRTCP(writer.written, now: now)
            }
            var done = false
            buffer.withUnsafeMutableBytes { bytes in
                for _ in 0..<2_000 where !done {
                    switch sender.poll(now: now, into: bytes) {
                    case .rtp(let length), .protected(let length): sent += length
                    case .event(.keyframeNeeded): keyframes += 1
                    case .rtcp, .event: break
                    case .wait: done = true
                    }
                }
            }
            #expect(done)
        }
        // Never more than the maximum bitrate, with the first bursts.
        #expect(sent < 3 * 10_000_000 / 8 * 13 / 10 + 200_000)
        #expect(sender.statistics.rtcp.feedbackUnknown > 0 && sender.statistics.retransmission.nacksIgnored > 0)
        #expect(sender.estimate >= .kilobits(100) && sender.estimate <= .kilobits(10_000))
    }

    private func packet(
        _ number: UInt16, timestamp: UInt32, start: Bool, marker: Bool, key: Bool = false, ssrc: UInt32 = 0x1111,
        bytes count: Int = 1_100
    ) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0x55, count: 1_500)
        let length = try bytes.withUnsafeMutableBytes { buffer in
            let layout = try WrittenPacketLayout.write(
                RTPHeader(
                    marker: marker, payloadType: 96, sequenceNumber: SequenceNumber(number),
                    timestamp: RTPTimestamp(timestamp), ssrc: ssrc), extensions: HeaderExtensionValues(),
                ids: Self.extensions,
                into: buffer)
            var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[layout.headerLength...]))
            try VP8PayloadDescriptor(isPartitionStart: start, pictureID: 5, baseLayerIndex: 1, temporalLayer: 0)
                .write(into: &writer)
            let body = SimulatedFrames.make(1, isKeyframe: key, length: count)
            try body.withUnsafeBytes { try writer.write($0) }
            return layout.headerLength + writer.position
        }
        return Array(bytes[0..<length])
    }

    @Test func aFrameWithoutEndIsGivenUpAndTheNextKeyFrameShown() throws {
        let receiver = receiver()
        var now = SimulatedCall.start
        var asked = 0
        for number in 0..<20_000 {
            now = now + .microseconds(100)
            feed(
                receiver,
                try packet(
                    UInt16(truncatingIfNeeded: number), timestamp: 1, start: number == 0, marker: false, key: true), now
            )
            let result = drain(receiver, now)
            #expect(result.frames == 0)
            asked += result.packets
        }
        #expect(receiver.statistics.drops.badFrames > 0)
        #expect(asked < 200)
        feed(receiver, try packet(20_000, timestamp: 2, start: true, marker: true, key: true), now)
        #expect(drain(receiver, now).frames == 1)
    }

    @Test func aFrameOfMoreThanFourMebibytesIsDropped() throws {
        let receiver = receiver()
        var now = SimulatedCall.start
        let count = (4 << 20) / 1_400 + 10
        for number in 0..<count {
            now = now + .microseconds(10)
            feed(
                receiver,
                try packet(
                    UInt16(number), timestamp: 1, start: number == 0, marker: number == count - 1, key: true,
                    bytes: 1_400), now)
        }
        #expect(drain(receiver, now).frames == 0)
        #expect(receiver.statistics.drops.badFrames == 1)
        #expect(receiver.statistics.requests.keyframes == 1)
    }

    @Test func strangersAndJumpsAreDropped() throws {
        let receiver = receiver()
        var now = SimulatedCall.start
        feed(receiver, try packet(100, timestamp: 1, start: true, marker: true, key: true), now)
        #expect(drain(receiver, now).frames == 1)
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            now = now + .milliseconds(1)
            feed(receiver, try packet(101, timestamp: 2, start: true, marker: true, ssrc: 0x7777), now)
            let far = 101 &+ UInt16.random(in: 5_000...60_000, using: &random) & ~1
            feed(receiver, try packet(far, timestamp: 9, start: true, marker: true), now)
            #expect(drain(receiver, now).frames == 0)
        }
        #expect(receiver.statistics.drops.unknownSource == 2_000)
        #expect(receiver.statistics.drops.sequenceJump == 2_000)
        feed(receiver, try packet(101, timestamp: 2, start: true, marker: true), now)
        #expect(drain(receiver, now).frames == 1)
    }

    /// `drain` requires each wait to end in the future.
    @Test func manyMissingPacketsAreGivenUpInOneCall() throws {
        let receiver = receiver()
        var now = SimulatedCall.start
        feed(receiver, try packet(0, timestamp: 1, start: true, marker: true, key: true), now)
        #expect(drain(receiver, now).frames == 1)
        for step in 1...4 {
            now = now + .microseconds(10)
            feed(receiver, try packet(UInt16(step * 120), timestamp: 2, start: false, marker: false), now)
            _ = drain(receiver, now)
        }
        #expect(receiver.statistics.video.lost == 4 * 119)
        let asked = receiver.statistics.requests.nacks
        now = now + .seconds(6)
        _ = drain(receiver, now)
        // No packet is missing any more.
        for _ in 0..<100 {
            now = now + .milliseconds(20)
            _ = drain(receiver, now)
        }
        #expect(receiver.statistics.requests.nacks <= asked + 1)
    }

    @Test func aReceiverThatJoinsLateRequestsAKeyFrameAtOnceAndShowsNothingBefore() throws {
        let receiver = receiver()
        let now = SimulatedCall.start
        feed(receiver, try packet(65_534, timestamp: 1, start: false, marker: true), now)
        let first = drain(receiver, now)
        #expect(first.frames == 0 && first.packets == 1)
        #expect(receiver.statistics.requests.keyframes == 1)
        feed(receiver, try packet(65_535, timestamp: 2, start: true, marker: true), now + .milliseconds(30))
        #expect(drain(receiver, now + .milliseconds(30)).frames == 0)
        feed(receiver, try packet(0, timestamp: 3, start: true, marker: true, key: true), now + .milliseconds(60))
        #expect(drain(receiver, now + .milliseconds(60)).frames == 1)
        feed(receiver, try packet(1, timestamp: 4, start: true, marker: true), now + .milliseconds(90))
        #expect(drain(receiver, now + .milliseconds(90)).frames == 1)
        #expect(receiver.statistics.requests.keyframes == 1)
    }
}
