import MediaCore
import RTPWire
import Testing

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
        let answer = ExtendedReport.DLRRSubBlock(ssrc: 7, lastTime: time.middle, delay: 0x1_8000)
        #expect(try written { try ExtendedReport.write(ssrc: 9, answer: answer, into: &$0) } == answered)
        #expect(try report(asked) { $0.time } == .some(time))
        #expect(try report(asked) { $0.dlrr(for: 7) } == .some(nil))
        #expect(try report(answered) { $0.dlrr(for: 7) } == answer)
        #expect(try report(answered) { $0.dlrr(for: 8) } == .some(nil))
        // Sent at 0, back after two seconds, of which one and a half were spent at the other side.
        #expect(answer.roundTripTime(now: time.advanced(by: .seconds(2))) == .milliseconds(500))
    }

    @Test func otherBlocksAreSkipped() throws {
        let loss: [UInt8] = [1, 0, 0, 2, 0xDE, 0xAD, 0xBE, 0xEF, 1, 2, 3, 4]
        let empty: [UInt8] = [99, 0, 0, 0]
        let bytes = [0x80, 207, 0, 8] + asked[4..<8] + loss + empty + asked[8...]
        #expect(try report(bytes) { $0.time?.seconds } == 0x0102_0304)
        // A block with another length has no time.
        #expect(try report([0x80, 207, 0, 3] + asked[4..<8] + [4, 0, 0, 1, 1, 2, 3, 4]) { $0.time } == .some(nil))
        // An incomplete DLRR entry is ignored.
        #expect(
            try report([0x80, 207, 0, 4] + answered[4..<8] + [5, 0, 0, 2] + answered[12..<20]) { $0.dlrr(for: 7) }
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
