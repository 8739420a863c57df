import MediaCore
import RTPWire
import TestSupport
import Testing

private let epoch = MediaInstant(nanoseconds: 5_000_000_000)

/// One written packet, and the result of parsing it.
private struct Written {
    var bytes: [UInt8]
    var count: Int
    var nextBase: Int64
}

private func write(
    _ arrivals: [TransportArrival], base: Int64, capacity: Int = 1_200
) throws -> Written {
    var result = Written(bytes: [], count: 0, nextBase: 0)
    result.bytes = try written(capacity) { writer throws in
        var feedback = TransportFeedbackWriter(senderSSRC: 1, mediaSSRC: 2, epoch: epoch)
        try arrivals.withUnsafeBufferPointer {
            (result.count, result.nextBase) = try feedback.write($0, base: base, into: &writer)
        }
    }
    return result
}

/// Sequence number and arrival in 250 us steps after the epoch, nil if lost.
private func read(_ bytes: [UInt8]) throws -> [(sequence: UInt16, ticks: Int64?)] {
    try packets(bytes) { found throws in
        guard case .transportFeedback(let feedback) = try #require(found.first) else { return [] }
        let statuses = Array(feedback)
        #expect(statuses.count == feedback.statusCount)
        #expect(statuses.filter { $0.arrival != nil }.count == feedback.receivedCount)
        return statuses.map { ($0.sequence.rawValue, $0.arrival.map { $0.nanoseconds / 250_000 }) }
    }
}

private func arrival(_ sequence: Int64, ticks: Int64) -> TransportArrival {
    TransportArrival(sequence: sequence, arrival: epoch + MediaDuration(nanoseconds: ticks * 250_000))
}

/// Expects the written arrivals in the parsed packet.
private func expectSame(_ arrivals: [TransportArrival], base: Int64, _ bytes: [UInt8]) throws {
    let found = try read(bytes)
    var next = arrivals.startIndex
    for (index, status) in found.enumerated() {
        let sequence = base + Int64(index)
        #expect(status.sequence == UInt16(truncatingIfNeeded: sequence))
        if next < arrivals.endIndex, arrivals[next].sequence == sequence {
            let ticks = (arrivals[next].arrival - epoch).nanoseconds / 250_000
            #expect(status.ticks == ticks, "packet \(sequence)")
            next += 1
        } else {
            #expect(status.ticks == nil, "packet \(sequence)")
        }
    }
    #expect(next == arrivals.endIndex)
}

@Suite struct TransportFeedbackTests {
    @Test func thePacketOfAChromiumIsRead() throws {
        // One packet received, padded by one byte.
        let bytes: [UInt8] = [
            0xAF, 0xCD, 0x00, 0x05, 0xFA, 0x17, 0xFA, 0x17, 0x43, 0x03, 0x2F, 0xA0, 0x00, 0x99, 0x00, 0x01, 0x3D, 0xE8,
            0x02, 0x17, 0x20, 0x01, 0x94, 0x01,
        ]
        try packets(bytes) { found throws in
            guard case .transportFeedback(let feedback) = found.first else {
                Issue.record("no feedback")
                return
            }
            #expect(feedback.senderSSRC == 4_195_875_351 && feedback.mediaSSRC == 1_124_282_272)
            #expect(feedback.base == SequenceNumber(153) && feedback.statusCount == 1)
            #expect(feedback.referenceTime == 4_057_090 && feedback.feedbackCount == 23)
            let arrival = MediaDuration.milliseconds(4_057_090 * 64 + 37)
            #expect(feedback.map(\.sequence) == [SequenceNumber(153)] && feedback.map(\.arrival) == [arrival])
        }
    }

    /// A feedback packet with this many statuses, these chunks and these bytes of deltas.
    private func packet(_ count: UInt16, chunks: [UInt16], deltas: [UInt8]) -> [UInt8] {
        var body: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 10, UInt8(count >> 8), UInt8(count & 0xFF), 0, 0, 0, 0]
        for chunk in chunks { body += [UInt8(chunk >> 8), UInt8(chunk & 0xFF)] }
        body += deltas
        while body.count % 4 != 0 { body.append(0) }
        return [0x8F, 205, UInt8((body.count / 4) >> 8), UInt8(body.count / 4 & 0xFF)] + body
    }

    private func isReceived(_ bytes: [UInt8]) throws -> [Bool] { try read(bytes).map { $0.ticks != nil } }

    @Test func theChunksOfTheDraftAreRead() throws {
        // Section 3.1.3: a run of 221 lost; 3.1.4: 1 lost, 5 received, 3 lost, 3 received, 2 lost.
        #expect(try isReceived(packet(221, chunks: [0x00DD], deltas: [])) == [Bool](repeating: false, count: 221))
        let vector = try isReceived(packet(14, chunks: [0x9F1C], deltas: [UInt8](repeating: 1, count: 8)))
        #expect(vector == "01111100011100".map { $0 == "1" })
        // Two bits: lost, large, small x 3, lost x 2.
        let two = try read(packet(7, chunks: [0b1100_1001_0101_0000], deltas: [0xFF, 0xFE, 4, 5, 6]))
        #expect(two.map(\.ticks) == [nil, -2, 2, 7, 13, nil, nil])
    }

    @Test func theReservedStatusAndMissingBytesAreMalformed() throws {
        for bytes in [
            packet(1, chunks: [0x6001], deltas: [0, 0, 0, 0]), packet(2, chunks: [0xF000], deltas: [0, 0, 0, 0]),
            packet(3, chunks: [0x2001], deltas: []), packet(5, chunks: [0x2005], deltas: [1, 2]),
            packet(65_535, chunks: [0x3FFF, 0x3FFF], deltas: [0]), packet(9, chunks: [0, 0], deltas: []),
        ] {
            try withBytes(bytes) { bytes throws in
                var iterator = RTCPIterator(bytes)
                #expect(throws: RTPMalformed(.transportFeedback)) { _ = try iterator.next() }
            }
        }
    }

    @Test func aReservedStatusBehindTheLastCountsForNothing() throws {
        #expect(try isReceived(packet(1, chunks: [0xD3FF], deltas: [0])) == [true])
    }

    @Test func anEmptyRunIsPassedOver() throws {
        #expect(try isReceived(packet(1, chunks: [0x6000, 0x0000, 0x2001], deltas: [0])) == [true])
    }

    @Test func theMostStatusesThatAPacketCanClaimAreBounded() throws {
        let bytes = packet(.max, chunks: [UInt16](repeating: 0x1FFF, count: 9), deltas: [])
        #expect(try isReceived(bytes).count == 65_535)
    }

    @Test(arguments: wrapPoints.map { Int64($0) } + [-1, 1 << 33]) func aRunAcrossAWrapComesBack(base: Int64) throws {
        let arrivals = (0..<50).map { arrival(base + $0, ticks: 1_000 + $0 * 4) }
        let result = try write(arrivals, base: base)
        #expect(result.count == 50 && result.nextBase == base + 50)
        // The first delta, from the reference time, is 1,000 - 3 * 256. All deltas are therefore small, and one run is
        // enough.
        #expect(result.bytes.count == 4 + 16 + 2 + 50)
        try expectSame(arrivals, base: base, result.bytes)
    }

    /// After `skip`, the following statuses are the same as after reading.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func skippedStatusesAreAsIfTheyHadBeenRead(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var chunks: [UInt16] = []
        for _ in 0..<30 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: chunks.append(UInt16.random(in: 0...2_000, using: &random))
            case 1: chunks.append(0x2000 | UInt16.random(in: 0...5, using: &random))
            case 2: chunks.append(0x8000 | UInt16.random(in: 0...0x3FFF, using: &random))
            default: chunks.append(0xC000 | UInt16.random(in: 0...0x3FFF, using: &random) & 0x1555)
            }
        }
        chunks.append(0x1FFF)
        let deltas = (0..<700).map { _ in UInt8.random(in: 0...255, using: &random) }
        let bytes = packet(UInt16.random(in: 1...8_000, using: &random), chunks: chunks, deltas: deltas)
        try packets(bytes) { found throws in
            guard case .transportFeedback(let feedback) = try #require(found.first) else { return }
            let all = Array(feedback)
            for _ in 0..<50 {
                let count = Int.random(in: 0...(all.count + 2), using: &random)
                var iterator = feedback.makeIterator()
                iterator.skip(count / 2)
                iterator.skip(count - count / 2)
                #expect(iterator.next() == (count < all.count ? all[count] : nil))
            }
        }
    }

    @Test func lossAtTheStartAndInTheMiddleIsReported() throws {
        let arrivals = [arrival(105, ticks: 7), arrival(106, ticks: 300), arrival(900, ticks: 301)]
        let result = try write(arrivals, base: 100)
        #expect(result.nextBase == 901)
        try expectSame(arrivals, base: 100, result.bytes)
    }

    @Test func reorderedArrivalsHaveNegativeDeltas() throws {
        let arrivals = [arrival(1, ticks: 9_000), arrival(2, ticks: 100), arrival(3, ticks: 40_000)]
        let written = try write(arrivals, base: 1)
        #expect(written.count == 2)
        try expectSame(Array(arrivals.prefix(written.count)), base: 1, written.bytes)
    }

    @Test(arguments: [-32_769, -32_768, -1, 0, 255, 256, 32_767, 32_768] as [Int64])
    func aDeltaThatDoesNotFitEndsThePacket(delta: Int64) throws {
        let arrivals = [arrival(1, ticks: 256 * 1_000), arrival(2, ticks: 256 * 1_000 + delta)]
        let written = try write(arrivals, base: 1)
        #expect(written.count == ((-32_768...32_767).contains(delta) ? 2 : 1))
        try expectSame(Array(arrivals.prefix(written.count)), base: 1, written.bytes)
    }

    @Test func arrivalsBeforeTheEpochHaveANegativeReference() throws {
        let arrivals = [arrival(1, ticks: -300), arrival(2, ticks: -1), arrival(3, ticks: 5)]
        try expectSame(arrivals, base: 1, try write(arrivals, base: 1).bytes)
    }

    @Test func aGapOverTheLimitIsJumped() throws {
        let limit = Int64(TransportFeedbackWriter.maximumStatusCount)
        let first = try write([arrival(limit, ticks: 1)], base: 0)
        #expect(try read(first.bytes).map(\.sequence) == [UInt16(limit)])
        let within = try write([arrival(limit - 1, ticks: 1)], base: 0)
        #expect(try read(within.bytes).count == Int(limit))
        let later = try write([arrival(0, ticks: 1), arrival(limit, ticks: 2)], base: 0)
        #expect(later.count == 1 && later.nextBase == 1)
    }

    @Test func anArrivalBeforeTheBaseStartsThePacket() throws {
        let arrivals = [arrival(90, ticks: 500), arrival(100, ticks: 400), arrival(101, ticks: 410)]
        let result = try write(arrivals, base: 101)
        #expect(result.count == 3 && result.nextBase == 102)
        try expectSame(arrivals, base: 90, result.bytes)
    }

    @Test func withoutArrivalsThereIsNoPacket() throws {
        let result = try write([], base: 9)
        #expect(result.bytes.isEmpty && result.count == 0 && result.nextBase == 9)
    }

    @Test func aSmallBufferTakesWhatFitsAndTheRestFollows() throws {
        let arrivals = (0..<300).map { arrival($0 * 2, ticks: $0 * 300) }
        for capacity in [24, 28, 40, 61, 100, 333] {
            var left = arrivals[...]
            var base: Int64 = 0
            while !left.isEmpty {
                let result = try write(Array(left), base: base, capacity: capacity)
                #expect(result.count > 0 && result.bytes.count <= capacity)
                try expectSame(Array(left.prefix(result.count)), base: base, result.bytes)
                left = left.dropFirst(result.count)
                base = result.nextBase
            }
        }
        for capacity in 0..<24 {
            #expect(throws: BufferFull()) { _ = try write(arrivals, base: 0, capacity: capacity) }
        }
    }

    @Test func feedbackPacketsAreCountedAndTheCountWraps() throws {
        var feedback = TransportFeedbackWriter(senderSSRC: 1, mediaSSRC: 2, epoch: epoch)
        for expected in (0...256).map({ UInt8(truncatingIfNeeded: $0) }) {
            let bytes = try written { writer throws in
                try [arrival(1, ticks: 0)].withUnsafeBufferPointer {
                    _ = try feedback.write($0, base: 1, into: &writer)
                }
            }
            #expect(bytes[19] == expected)
        }
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>) func whatARandomNetworkDeliversComesBack(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let loss = Int.random(in: 0...90, using: &random)
        let jitter = Int64([2, 200, 300, 2_000].randomElement(using: &random) ?? 2)
        let base = Int64.random(in: 0...200_000, using: &random)
        var ticks: Int64 = 50_000
        var arrivals: [TransportArrival] = []
        for step in 0..<Int64(200) {
            ticks += Int64.random(in: -jitter / 2...jitter, using: &random)
            if Int.random(in: 0..<100, using: &random) >= loss { arrivals.append(arrival(base + step, ticks: ticks)) }
        }
        let result = try write(arrivals, base: base)
        #expect(result.count == arrivals.count, "seed \(seed)")
        try expectSame(arrivals, base: base, result.bytes)
    }
}
