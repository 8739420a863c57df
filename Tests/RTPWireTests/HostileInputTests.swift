import MediaCore
import RTPWire
import TestSupport
import Testing

/// Arbitrary input from the network: no trap, no read outside the bytes, an end in bounded time. The seed is the
/// argument, and is part of the name of a failed test case.
@Suite struct HostileInputTests {
    private let ids: HeaderExtensionMap = [.transportSequence: 3, .playoutDelay: 6, .absSendTime: 2, .mid: 9]

    /// Passes the bytes to every parser.
    private func parseAll(_ bytes: [UInt8]) throws {
        try withBytes(bytes) { bytes throws in
            _ = PacketKind(of: bytes)
            _ = walk(bytes)
            _ = try? VP8FrameHeader(bytes)
            _ = try? VP8PayloadDescriptor.parse(bytes)
            guard let packet = try? RTPPacketView(bytes) else { return }
            #expect(packet.headerLength + packet.payload.count + packet.paddingLength == bytes.count)
            _ = packet.values(of: ids)
            _ = try? VP8PayloadDescriptor.parse(packet.payload)
            if let blocks = try? RedundantPayload(packet.payload) { #expect(blocks.contains { $0.isPrimary }) }
            if let original = try? RTX.unwrap(packet, ssrc: 1, payloadType: 96) {
                #expect(original.payload.count == packet.payload.count - RTX.overhead)
            }
        }
    }

    /// A datagram with one of each RTCP packet that is written.
    private func compound() throws -> [UInt8] {
        let arrivals = (0..<Int64(40)).filter { $0 % 5 != 3 }.map {
            TransportArrival(sequence: $0, arrival: MediaInstant(nanoseconds: $0 * $0 * 3_000_000))
        }
        return try written { writer throws in
            var report = try senderInfo.write(into: &writer)
            try report.append(reportBlock, into: &writer)
            var empty = try ReceiverReport.write(ssrc: 1, into: &writer)
            try empty.append(reportBlock, into: &writer)
            try SourceDescription.write(ssrc: 1, cname: "someone", into: &writer)
            var nack = NackWriter(senderSSRC: 1, mediaSSRC: 2)
            for number in [1, 4, 90, 65_535] as [UInt16] { try nack.append(SequenceNumber(number), into: &writer) }
            try PictureLossIndication(senderSSRC: 1, mediaSSRC: 2).write(into: &writer)
            try FullIntraRequest.write(senderSSRC: 1, mediaSSRC: 2, number: 3, into: &writer)
            try REMB.write(senderSSRC: 1, mediaSSRC: 2, bitrate: .kilobits(900), into: &writer)
            var feedback = TransportFeedbackWriter(
                senderSSRC: 1, mediaSSRC: 2, epoch: MediaInstant(nanoseconds: 0))
            try arrivals.withUnsafeBufferPointer { _ = try feedback.write($0, base: 0, into: &writer) }
            try Goodbye.write(ssrc: 1, into: &writer)
        }
    }

    @Test func everyTruncationOfACompoundEndsEarlier() throws {
        let bytes = try compound()
        try withBytes(bytes) { #expect(walk($0) == 9) }
        for length in 0..<bytes.count {
            try withBytes(bytes.prefix(length)) { prefix throws in #expect(walk(prefix) < 9, "\(length) bytes") }
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>) func randomBytesNeverTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 { try parseAll(random.bytes(Int.random(in: 0...200, using: &random))) }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>) func randomBodiesBehindAGoodHeaderNeverTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var bytes = random.bytes(Int.random(in: 1...50, using: &random) * 4)
            bytes[0] = 0x80 | bytes[0] & 0x3F
            if Bool.random(using: &random) {
                bytes[1] = [200, 201, 202, 203, 205, 206].randomElement(using: &random) ?? 200
                if bytes[1] >= 205 { bytes[0] = 0x80 | ([1, 4, 15].randomElement(using: &random) ?? 1) }
                bytes[2] = 0
                bytes[3] = UInt8(bytes.count / 4 - 1)
            } else if bytes.count >= 16 {
                bytes[12] = 0xBE
                bytes[13] = 0xDE
            }
            try parseAll(bytes)
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>) func aGoodCompoundWithSomeBytesChangedNeverTraps(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed)
        let good = try compound()
        for _ in 0..<100 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            try parseAll(bytes)
        }
    }

    @Test func everyValueOfEveryByteOfACompoundIsSurvived() throws {
        let good = try compound()
        for index in good.indices {
            for value in [0, 1, 3, 4, 0x1F, 0x7F, 0x80, 0xFE, 0xFF] as [UInt8] {
                var bytes = good
                bytes[index] = value
                try withBytes(bytes) { _ = walk($0) }
            }
        }
    }
}
