import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct TransportFeedbackGeneratorTests {
    @Test(arguments: wrapPoints)
    func everyArrivalIsReportedOnceAndGapsAsLost(first: UInt16) throws {
        var recorder = TransportFeedbackGenerator(senderSSRC: 1, mediaSSRC: 2, epoch: .at(0))
        #expect(recorder.deadline == .distantFuture)
        for step in [0, 1, 4, 3] {
            recorder.note(SequenceNumber(first &+ UInt16(step)), now: .at(step))
        }
        #expect(recorder.deadline <= .at(100))
        var bytes = [UInt8](repeating: 0, count: 1_200)
        try bytes.withUnsafeMutableBytes { buffer in
            var writer = ByteWriter(buffer)
            expect(recorder.write(into: &writer, now: .at(100)))
            var packets = RTCPIterator(writer.written)
            guard case .transportFeedback(let feedback) = try packets.next() else {
                Issue.record("no feedback")
                return
            }
            #expect(feedback.base == SequenceNumber(first))
            #expect(feedback.map { $0.arrival != nil } == [true, true, false, true, true])
        }
        #expect(recorder.deadline == .distantFuture)
        var rest = ByteWriter(UnsafeMutableRawBufferPointer(start: nil, count: 0))
        expect(!recorder.write(into: &rest, now: .at(200)))
    }

    @Test func aThousandArrivalsAreDueAtOnceAndNoMoreAreKept() {
        var recorder = TransportFeedbackGenerator(senderSSRC: 1, mediaSSRC: 2, epoch: .at(0))
        for step in 0..<5_000 { recorder.note(SequenceNumber(UInt16(step)), now: .at(0)) }
        #expect(recorder.deadline == .at(0))
        var bytes = [UInt8](repeating: 0, count: 1_200)
        var written = 0
        bytes.withUnsafeMutableBytes { buffer in
            var writer = ByteWriter(buffer)
            while recorder.write(into: &writer, now: .at(0)), written < 100 {
                written += 1
                writer = ByteWriter(buffer)
            }
        }
        #expect((1...10).contains(written))
    }
}
