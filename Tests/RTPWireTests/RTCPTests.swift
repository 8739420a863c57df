import MediaCore
import RTPWire
import Testing

let reportBlock = ReportBlock(
    ssrc: 0x0102_0304, fractionLost: 255, cumulativeLost: -5, highestSequence: 0xFFFF_FFFE, jitter: 77,
    lastSenderReport: 0xB705_2000, delaySinceLastSenderReport: 0x0005_4000)

let senderInfo = SenderInfo(
    ssrc: 0xDEAD_BEEF, ntp: NTPTimestamp(seconds: 0xB44D_B705, fraction: 0x2000_0000),
    rtpTimestamp: RTPTimestamp(0xFFFF_FFFF), packetCount: 10, octetCount: 11)

/// The packets of a datagram that is expected to be whole.
func packets<R>(_ bytes: [UInt8], _ body: ([RTCPPacket]) throws -> R) throws -> R {
    try withBytes(bytes) { bytes throws in
        var iterator = RTCPIterator(bytes)
        var found: [RTCPPacket] = []
        while let packet = try iterator.next() { found.append(packet) }
        return try body(found)
    }
}

@Suite struct RTCPIteratorTests {
    @Test func aCompoundPacketGivesItsPacketsInOrder() throws {
        let bytes = try written { writer throws in
            try senderInfo.write(into: &writer)
            try SourceDescription.write(ssrc: 1, cname: "abc", into: &writer)
            try PictureLossIndication(senderSSRC: 1, mediaSSRC: 2).write(into: &writer)
            try Goodbye.write(ssrc: 1, into: &writer)
        }
        try packets(bytes) { found throws in
            #expect(found.count == 4)
            guard case .senderReport = found[0], case .sourceDescription = found[1], case .pictureLoss = found[2],
                case .goodbye = found[3]
            else {
                Issue.record("wrong packets: \(found)")
                return
            }
        }
    }

    @Test func aReducedSizePacketNeedsNoReport() throws {
        let bytes = try written { try PictureLossIndication(senderSSRC: 1, mediaSSRC: 2).write(into: &$0) }
        #expect(bytes == [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2])
        try packets(bytes) { #expect($0.count == 1) }
    }

    @Test func noBytesAreNoPackets() throws {
        try packets([]) { #expect($0.isEmpty) }
    }

    @Test func aLengthPastTheDatagramEndsTheIteration() throws {
        let first = try written { try Goodbye.write(ssrc: 1, into: &$0) }
        for length in [[0, 2], [0xFF, 0xFF], [0x7F, 0xFF]] as [[UInt8]] {
            try withBytes(first + [0x81, 206] + length + [0, 0, 0, 1]) { bytes throws in
                var iterator = RTCPIterator(bytes)
                #expect(try iterator.next() != nil)
                #expect(throws: RTPMalformed(.rtcpLength)) { _ = try iterator.next() }
                #expect(try iterator.next() == nil)
            }
        }
    }

    @Test func anotherVersionEndsTheIteration() throws {
        try withBytes([0x41, 203, 0, 1, 0, 0, 0, 1]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.version)) { _ = try iterator.next() }
            #expect(try iterator.next() == nil)
        }
    }

    @Test func aPacketWithAWrongCountDoesNotHideTheNext() throws {
        let good = try written { try Goodbye.write(ssrc: 1, into: &$0) }
        try withBytes([0x9F, 203, 0, 1, 0, 0, 0, 1] + good) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.rtcpCount)) { _ = try iterator.next() }
            #expect(try iterator.next() != nil)
            #expect(try iterator.next() == nil)
        }
    }

    @Test func paddingIsRemovedAndCheckedFirst() throws {
        try packets([0xA1, 203, 0, 2, 0, 0, 0, 9, 0, 0, 0, 4]) { found throws in
            guard case .goodbye(let goodbye) = found.first else {
                Issue.record("no goodbye")
                return
            }
            #expect(Array(goodbye) == [9])
        }
        for count in [0, 9, 255] as [UInt8] {
            try withBytes([0xA1, 203, 0, 2, 0, 0, 0, 9, 0, 0, 0, count]) { bytes throws in
                var iterator = RTCPIterator(bytes)
                #expect(throws: RTPMalformed(.padding)) { _ = try iterator.next() }
            }
        }
        try withBytes([0xA0, 203, 0, 0]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.padding)) { _ = try iterator.next() }
        }
    }

    @Test func unknownPacketsAreNamedAndPassedOver() throws {
        let bytes: [UInt8] = [0x82, 204, 0, 2, 0, 0, 0, 1, 0x61, 0x62, 0x63, 0x64, 0x80, 210, 0, 0, 0x9E, 205, 0, 0]
        try packets(bytes) { found throws in
            let seen = found.map {
                if case .other(let type, let format) = $0 { [type, format] } else { [UInt8]() }
            }
            #expect(seen == [[204, 2], [210, 0], [205, 30]])
        }
    }
}

@Suite struct ReportTests {
    @Test func aSenderReportComesBackWithItsBlocks() throws {
        let bytes = try written { writer throws in
            var report = try senderInfo.write(into: &writer)
            try report.append(reportBlock, into: &writer)
            try report.append(ReportBlock(ssrc: 2), into: &writer)
        }
        #expect(bytes.count == 28 + 48)
        #expect(Array(bytes[0..<4]) == [0x82, 200, 0, 18])
        try packets(bytes) { found throws in
            guard case .senderReport(let report) = found.first else {
                Issue.record("no report")
                return
            }
            #expect(report.info == senderInfo)
            #expect(Array(report.blocks) == [reportBlock, ReportBlock(ssrc: 2)])
            #expect(report.blocks.count == 2)
        }
    }

    @Test func aReceiverReportMayBeEmpty() throws {
        let bytes = try written { try ReceiverReport.write(ssrc: 7, into: &$0) }
        #expect(bytes == [0x80, 201, 0, 1, 0, 0, 0, 7])
        try packets(bytes) { found throws in
            guard case .receiverReport(let report) = found.first else {
                Issue.record("no report")
                return
            }
            #expect(report.ssrc == 7)
            #expect(Array(report.blocks).isEmpty)
        }
    }

    @Test func the32ndBlockDoesNotFitAndABlockThatDoesNotFitChangesNothing() throws {
        let full = try written { writer throws in
            var report = try ReceiverReport.write(ssrc: 7, into: &writer)
            for _ in 0..<31 { try report.append(reportBlock, into: &writer) }
            #expect(throws: BufferFull()) { try report.append(reportBlock, into: &writer) }
        }
        try packets(full) { found throws in
            guard case .receiverReport(let report) = found.first else { return }
            #expect(report.blocks.count == 31)
        }
        let short = try written(8 + 23) { writer throws in
            var report = try ReceiverReport.write(ssrc: 7, into: &writer)
            #expect(throws: BufferFull()) { try report.append(reportBlock, into: &writer) }
        }
        #expect(short == [0x80, 201, 0, 1, 0, 0, 0, 7])
    }

    @Test func cumulativeLossIsCutTo24BitsWithItsSign() throws {
        for (value, expected) in [
            (Int32.max, 0x7F_FFFF), (.min, -0x80_0000), (0x7F_FFFF, 0x7F_FFFF), (-1, -1), (0, 0),
        ] as [(Int32, Int32)] {
            let bytes = try written { writer throws in
                var report = try ReceiverReport.write(ssrc: 7, into: &writer)
                try report.append(ReportBlock(ssrc: 1, cumulativeLost: value), into: &writer)
            }
            try packets(bytes) { found throws in
                guard case .receiverReport(let report) = found.first else { return }
                #expect(report.blocks.map(\.cumulativeLost) == [expected])
            }
        }
    }

    @Test func theRoundTripTimeIsThatOfRFC3550() throws {
        // Figure 2: A = b710:8000, LSR = b705:2000, DLSR = 5.250 s; 6.125 s are left.
        let now = NTPTimestamp(seconds: 0xB44D_B710, fraction: 0x8000_0000)
        #expect(reportBlock.roundTripTime(now: now) == .milliseconds(6_125))
    }

    @Test func aRoundTripThatCannotBeIsNone() throws {
        let sent = NTPTimestamp(seconds: 0x1234_5678, fraction: 0)
        #expect(ReportBlock(ssrc: 1).roundTripTime(now: sent) == nil)
        var block = ReportBlock(ssrc: 1, lastSenderReport: sent.middle, delaySinceLastSenderReport: 100)
        #expect(block.roundTripTime(now: sent) == .zero)
        block.delaySinceLastSenderReport = 61 << 16
        #expect(block.roundTripTime(now: sent) == nil)
        #expect(block.roundTripTime(now: sent.advanced(by: .seconds(122))) == nil)
        block.delaySinceLastSenderReport = .max
        #expect(block.roundTripTime(now: sent) == MediaDuration(nanoseconds: 15_258), "one unit, by the wrap")
    }

    @Test func aRoundTripAcrossTheWrapOfTheMiddleIsRight() throws {
        let sent = NTPTimestamp(seconds: 0x1234_FFFF, fraction: 0x8000_0000)
        let block = ReportBlock(ssrc: 1, lastSenderReport: sent.middle, delaySinceLastSenderReport: 0x8000)
        #expect(block.roundTripTime(now: sent.advanced(by: .milliseconds(1_500))) == .seconds(1))
    }
}

@Suite struct SourceDescriptionTests {
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 254, 255]) func cnamesOfAllLengthsComeBack(length: Int) throws {
        let name = String(repeating: "n", count: length)
        let bytes = try written { try SourceDescription.write(ssrc: 5, cname: name, into: &$0) }
        #expect(bytes.count % 4 == 0)
        #expect(bytes.last == 0, "a chunk ends with a zero")
        try packets(bytes) { found throws in
            guard case .sourceDescription(let description) = found.first else {
                Issue.record("no description")
                return
            }
            #expect(description.map(\.ssrc) == [5])
            #expect(description.map { $0.cname.map(Array.init) } == [Array(name.utf8)])
        }
    }

    @Test func chunksWithOtherItemsOrNoneArePassed() throws {
        let chunks: [UInt8] = [0, 0, 0, 1, 2, 1, 65, 1, 1, 66, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]
        try packets([0x82, 202, 0, 5] + chunks) { found throws in
            guard case .sourceDescription(let description) = found.first else {
                Issue.record("no description")
                return
            }
            #expect(description.map(\.ssrc) == [1, 2])
            #expect(description.map { $0.cname.map(Array.init) } == [[66], nil])
        }
    }

    @Test func anItemLongerThanThePacketEndsTheChunks() throws {
        try packets([0x81, 202, 0, 2, 0, 0, 0, 1, 1, 255, 65, 66]) { found throws in
            guard case .sourceDescription(let description) = found.first else { return }
            #expect(description.map(\.ssrc).isEmpty)
        }
    }
}

@Suite struct GoodbyeTests {
    @Test func severalSourcesAndAReasonAreRead() throws {
        try packets([0x82, 203, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 3, 0x65, 0x6E, 0x64]) { found throws in
            guard case .goodbye(let goodbye) = found.first else {
                Issue.record("no goodbye")
                return
            }
            #expect(Array(goodbye) == [1, 2])
            #expect(goodbye.reason.map(Array.init) == Array("end".utf8))
        }
    }

    @Test func aReasonThatIsCutOffIsNoReason() throws {
        try packets([0x81, 203, 0, 2, 0, 0, 0, 1, 4, 0x65, 0x6E, 0x64]) { found throws in
            guard case .goodbye(let goodbye) = found.first else { return }
            #expect(goodbye.reason == nil)
            #expect(Array(goodbye) == [1])
        }
    }
}

@Suite struct NackTests {
    private func numbers(_ bytes: [UInt8]) throws -> [UInt16] {
        try packets(bytes) { found throws in
            guard case .nack(let nack) = found.first else { return [] }
            #expect(nack.senderSSRC == 1 && nack.mediaSSRC == 2)
            return nack.map(\.rawValue)
        }
    }

    private func nack(_ lost: [UInt16], capacity: Int = 1_500) throws -> [UInt8] {
        try written(capacity) { writer throws in
            var nack = NackWriter(senderSSRC: 1, mediaSSRC: 2)
            for number in lost { try nack.append(SequenceNumber(number), into: &writer) }
        }
    }

    @Test(arguments: wrapPoints) func aRunOf17FitsOneEntryAndOf18Two(first: UInt16) throws {
        let run = (0..<18).map { first &+ UInt16($0) }
        let one = try nack(Array(run.dropLast()))
        #expect(one.count == 16)
        #expect(Array(one.suffix(2)) == [0xFF, 0xFF])
        #expect(try numbers(one) == Array(run.dropLast()))
        let two = try nack(run)
        #expect(two.count == 20)
        #expect(Array(two[0..<4]) == [0x81, 205, 0, 4])
        #expect(try numbers(two) == run)
    }

    @Test(arguments: wrapPoints) func everySecondNumberComesBack(first: UInt16) throws {
        let lost = (0..<100).map { first &+ UInt16($0 * 2) }
        #expect(try numbers(try nack(lost)) == lost)
    }

    @Test func anyOrderIsRightAndRepetitionOfTheFirstIsNone() throws {
        #expect(try numbers(try nack([10, 10, 5, 65_535, 6])) == [10, 5, 65_535, 6])
    }

    @Test func withoutNumbersThereIsNoPacket() throws {
        #expect(try nack([]).isEmpty)
    }

    @Test func aFullBufferKeepsTheEntriesBefore() throws {
        var nack = NackWriter(senderSSRC: 1, mediaSSRC: 2)
        let bytes = try written(19) { writer throws in
            try nack.append(SequenceNumber(1), into: &writer)
            #expect(throws: BufferFull()) { try nack.append(SequenceNumber(100), into: &writer) }
            try nack.append(SequenceNumber(3), into: &writer)
        }
        #expect(try numbers(bytes) == [1, 3])
        #expect(throws: BufferFull()) { try self.nack([1], capacity: 15) }
    }

    @Test func anEntryThatIsMissingIsMalformed() throws {
        try withBytes([0x81, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.rtcpCount)) { _ = try iterator.next() }
        }
    }
}

@Suite struct KeyframeRequestTests {
    @Test func pictureLossNamesTheStream() throws {
        let loss = PictureLossIndication(senderSSRC: .max, mediaSSRC: 3)
        try packets(try written { try loss.write(into: &$0) }) { found throws in
            guard case .pictureLoss(let again) = found.first else {
                Issue.record("no PLI")
                return
            }
            #expect(again == loss)
        }
    }

    @Test func fullIntraRequestsNameStreamsAndNumbers() throws {
        let bytes = try written {
            try FullIntraRequest.write(senderSSRC: 1, mediaSSRC: 0xFFFF_FFFE, number: 255, into: &$0)
        }
        #expect(bytes.count == 20)
        try packets(bytes) { found throws in
            guard case .fullIntraRequest(let request) = found.first else {
                Issue.record("no FIR")
                return
            }
            #expect(request.senderSSRC == 1)
            #expect(request.map(\.ssrc) == [0xFFFF_FFFE])
            #expect(request.map(\.number) == [255])
        }
    }
}

@Suite struct BitrateEstimateTests {
    private func estimate(_ bytes: [UInt8]) throws -> (bitrate: Int, sources: [UInt32])? {
        try packets(bytes) { found throws in
            guard case .bitrateEstimate(let estimate) = found.first else { return nil }
            return (estimate.bitrate.bitsPerSecond, Array(estimate))
        }
    }

    private let start: [UInt8] = [0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42]

    @Test func theVectorOfLibwebrtcIsRead() throws {
        let found = try estimate(
            [0x8F, 206, 0, 7] + start + [3, 0x07, 0xFB, 0x93]
                + [0x23, 0x45, 0x67, 0x89, 0x23, 0x45, 0x67, 0x8A, 0x23, 0x45, 0x67, 0x8B])
        #expect(found?.bitrate == 522_022)
        #expect(found?.sources == [0x2345_6789, 0x2345_678A, 0x2345_678B])
    }

    @Test(arguments: [0, 1, 0x3_FFFF, 0x4_0000, 1_000_000, 522_022, 1 << 40, Int.max, -1])
    func bitratesAreRoundedDownTo18Bits(bitrate: Int) throws {
        let bytes = try written {
            try BitrateEstimate.write(
                senderSSRC: 1, mediaSSRC: 2, bitrate: Bitrate(bitsPerSecond: bitrate), into: &$0)
        }
        let found = try #require(try estimate(bytes))
        let expected = min(max(bitrate, 0), 1 << 62)
        #expect(found.bitrate <= expected && found.bitrate >= expected - expected >> 17)
        #expect(found.sources == [2])
    }

    @Test func everyExponentGivesABitrate() throws {
        for exponent in 0...63 {
            let bits = UInt32(exponent) << 18 | 0x3_FFFF
            let fields = [0, UInt8(bits >> 16), UInt8(bits >> 8 & 0xFF), UInt8(bits & 0xFF)]
            let found = try #require(try estimate([0x8F, 206, 0, 4] + start + fields))
            #expect(found.bitrate == (exponent <= 44 ? 0x3_FFFF << exponent : 1 << 62))
        }
    }

    @Test func otherApplicationFeedbackIsNoEstimate() throws {
        try packets([0x8F, 206, 0, 3] + start.dropLast() + [0x43]) { found throws in
            guard case .other(206, 15) = found.first else {
                Issue.record("taken for an estimate")
                return
            }
        }
    }

    @Test func moreSourcesThanBytesAreMalformed() throws {
        try withBytes([0x8F, 206, 0, 5] + start + [2, 0, 0, 1, 0, 0, 0, 1]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.rtcpCount)) { _ = try iterator.next() }
        }
    }
}

@Suite struct ExtendedReportTests {
    private let asked: [UInt8] = [0x80, 207, 0, 4, 0, 0, 0, 7, 4, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]
    private let answered: [UInt8] = [0x80, 207, 0, 5, 0, 0, 0, 9, 5, 0, 0, 3, 0, 0, 0, 7, 3, 4, 5, 6, 0, 1, 0x80, 0]

    private func report<Result>(_ bytes: [UInt8], _ body: (ExtendedReport) -> Result) throws -> Result? {
        try packets(bytes) { found throws in
            guard case .extendedReport(let report) = found.first else { return nil }
            return body(report)
        }
    }

    @Test func theQuestionAndTheAnswerAreWrittenAsTheStandardHasThem() throws {
        let time = NTPTimestamp(seconds: 0x0102_0304, fraction: 0x0506_0708)
        #expect(try written { try ExtendedReport.write(ssrc: 7, time: time, into: &$0) } == asked)
        let answer = ExtendedReport.Answer(ssrc: 7, lastTime: time.middle, delay: 0x1_8000)
        #expect(try written { try ExtendedReport.write(ssrc: 9, answer: answer, into: &$0) } == answered)
        #expect(try report(asked) { $0.time } == .some(time))
        #expect(try report(asked) { $0.answer(for: 7) } == .some(nil))
        #expect(try report(answered) { $0.answer(for: 7) } == answer)
        #expect(try report(answered) { $0.answer(for: 8) } == .some(nil))
        // Sent at 0, back after two seconds, of which one and a half were spent there.
        #expect(answer.roundTripTime(now: time.advanced(by: .seconds(2))) == .milliseconds(500))
    }

    @Test func otherBlocksAreSkipped() throws {
        let loss: [UInt8] = [1, 0, 0, 2, 0xDE, 0xAD, 0xBE, 0xEF, 1, 2, 3, 4]
        let empty: [UInt8] = [99, 0, 0, 0]
        let bytes = [0x80, 207, 0, 8] + asked[4..<8] + loss + empty + asked[8...]
        #expect(try report(bytes) { $0.time?.seconds } == 0x0102_0304)
        // A time of another length is none.
        #expect(try report([0x80, 207, 0, 3] + asked[4..<8] + [4, 0, 0, 1, 1, 2, 3, 4]) { $0.time } == .some(nil))
        // Half an answer is none.
        #expect(
            try report([0x80, 207, 0, 4] + answered[4..<8] + [5, 0, 0, 2] + answered[12..<20]) { $0.answer(for: 7) }
                == .some(nil))
    }

    @Test func aBlockThatIsLongerThanThePacketIsMalformed() throws {
        for bytes in [[0x80, 207, 0, 2, 0, 0, 0, 7, 4, 0, 0, 2], [0x80, 207, 0, 0]] as [[UInt8]] {
            try withBytes(bytes) { bytes in
                var packets = RTCPIterator(bytes)
                #expect(throws: RTPMalformed(.rtcpCount)) { try packets.next() }
            }
        }
    }
}
