import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing

/// What a receiver gets by asking for packets again and again.
@Suite struct RetransmissionLimitTests {
    private func packet(_ body: (inout ByteWriter) throws -> Void) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1_500)
        let length = try bytes.withUnsafeMutableBytes { buffer in
            var writer = ByteWriter(buffer)
            try body(&writer)
            return writer.position
        }
        return Array(bytes[..<length])
    }

    /// A NACK of all packets that were sent, and of some more.
    private func nack(_ first: SequenceNumber, _ count: Int) throws -> [UInt8] {
        try packet { out in
            var nack = NackWriter(senderSSRC: 9, mediaSSRC: 0x1111)
            for step in 0..<count {
                try nack.append(SequenceNumber(truncating: Int64(first.rawValue) + Int64(step)), into: &out)
            }
        }
    }

    private final class Stage {
        let sender: MediaSender
        /// Sequence numbers of the video packets.
        private(set) var sent: [SequenceNumber] = []
        private(set) var videoBytes = 0
        private(set) var rtxPackets = 0
        private(set) var rtxBytes = 0

        init(usesFeedback: Bool, hasRTX: Bool = true) {
            let video = VideoStreamParameters(
                ssrc: 0x1111, payloadType: 96, rtxSSRC: hasRTX ? 0x2222 : nil, rtxPayloadType: hasRTX ? 97 : nil,
                mid: "0")
            sender = MediaSender(
                SenderParameters(
                    video: video, audio: [],
                    extensions: usesFeedback
                        ? [.transportSequence: 3, .absSendTime: 2, .mid: 1] : [.absSendTime: 2, .mid: 1],
                    cname: "h", startBitrate: .kilobits(1_000), maximumBitrate: .kilobits(100_000),
                    usesTransportFeedback: usesFeedback),
                seed: 1, ntpEpoch: NTPTimestamp(rawValue: 0), now: SimulatedCall.start)
        }

        func frame(_ number: UInt32, isKeyframe: Bool, length: Int, now: MediaInstant) {
            let frame = SimulatedFrames.make(Int(number), isKeyframe: isKeyframe, length: length)
            frame.withUnsafeBytes {
                sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: isKeyframe, captured: now), now: now)
            }
        }

        func drain(_ now: MediaInstant) {
            var buffer = [UInt8](repeating: 0, count: 1_500)
            buffer.withUnsafeMutableBytes { bytes in
                while true {
                    switch sender.poll(now: now, into: bytes) {
                    case .wait: return
                    case .rtp(let length):
                        let ssrc = bytes[8..<12].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                        if ssrc == 0x1111 {
                            sent.append(SequenceNumber(UInt16(bytes[2]) << 8 | UInt16(bytes[3])))
                            videoBytes += length
                            sender.keepProtected(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
                        } else {
                            rtxPackets += 1
                            rtxBytes += length
                        }
                    case .protected(let length):
                        rtxPackets += 1
                        rtxBytes += length
                    default: break
                    }
                }
            }
        }

        func deliver(_ bytes: [UInt8], now: MediaInstant) { bytes.withUnsafeBytes { sender.handleRTCP($0, now: now) } }
    }

    /// The receiver's own feedback says that it has everything: it gets nothing again.
    @Test func whatTheReceiverHasIsNotRepeated() throws {
        let stage = Stage(usesFeedback: true)
        let start = SimulatedCall.start
        stage.frame(1, isKeyframe: true, length: 40_000, now: start)
        for step in 0..<400 { stage.drain(start + .milliseconds(step)) }
        let count = stage.sent.count
        #expect(count >= 30)
        var writer = TransportFeedbackWriter(senderSSRC: 9, mediaSSRC: 0x1111, epoch: start)
        let all = stage.sender.statistics.packetsSent
        let arrivals = (1...Int64(all)).map { TransportArrival(sequence: $0, arrival: start + .milliseconds(410)) }
        let feedback = try packet { out in
            _ = try arrivals.withUnsafeBufferPointer { try writer.write($0, base: 1, into: &out) }
        }
        stage.deliver(feedback, now: start + .milliseconds(420))
        // Tail loss probes and probes for bandwidth are no answers.
        let before = stage.sender.statistics
        for step in 0..<500 {
            let now = start + .milliseconds(430 + step * 20)
            stage.deliver(try nack(stage.sent[0], count), now: now)
            stage.drain(now)
        }
        let after = stage.sender.statistics
        #expect(after.retransmission.nackedPackets - before.retransmission.nackedPackets == 500 * count)
        #expect(after.retransmission.nacksIgnored - before.retransmission.nacksIgnored == 500 * count)
    }

    /// A receiver that reports nothing gets twice what it has not acknowledged, and then 100 kbit/s.
    @Test(arguments: [true, false], [true, false])
    func requestsBringABoundedRate(usesFeedback: Bool, hasRTX: Bool) throws {
        let stage = Stage(usesFeedback: usesFeedback, hasRTX: hasRTX)
        let start = SimulatedCall.start
        stage.frame(1, isKeyframe: true, length: 60_000, now: start)
        for step in 0..<400 { stage.drain(start + .milliseconds(step)) }
        let (count, bytes) = (stage.sent.count, stage.videoBytes)
        #expect(count >= 50)
        for step in 0..<1_500 {
            let now = start + .milliseconds(400 + step * 20)
            stage.deliver(try nack(stage.sent[0], count), now: now)
            stage.drain(now)
        }
        let fill = 30 * 100_000 / 8
        print(
            "nack limit", usesFeedback, hasRTX, "sent", bytes, "again", stage.rtxBytes, "estimate",
            stage.sender.estimate)
        #expect(stage.rtxBytes <= 2 * bytes + fill + 10_000)
        #expect(stage.rtxBytes >= bytes, "what is missing comes")
    }
}
