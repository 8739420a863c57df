import MediaCore
import Testing

@testable import MediaEngine

/// `TransportSequenceHistory`: packets whose feedback was lost.
@Suite struct UnreportedPacketTests {
    @Test(arguments: wrapPoints)
    func unreportedPacketsAreCountedOnce(first: UInt16) {
        var sent = TransportSequenceHistory(capacity: 16, first: Int64(first))
        for _ in 0..<10 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        let start = Int64(first)
        _ = sent.take(start, hasArrived: true)
        sent.noteReported(start)
        // Feedback on 1 to 4 was lost.
        expect(sent.takeUnreported(before: start + 5) == 400)
        expect(sent.takeUnreported(before: start + 5) == 0)
        expect(sent.takeUnreported(before: start + 2) == 0)
        expect(sent.recent(now: .at(9_000)) == start..<start + 10)
        expect(sent.recent(now: .at(11_000)).isEmpty)
    }

    @Test func overwrittenPacketsAreNotCounted() {
        var sent = TransportSequenceHistory(capacity: 16, first: 1)
        for _ in 0..<40 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        expect(sent.takeUnreported(before: 41) == 1_600)
    }
}
