import MediaCore
import RTPWire
import Testing

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
