import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct TransportSequenceHistoryTests {
    @Test func eachStatusChangeIsReportedOnceAcrossTheWrap() {
        var sent = TransportSequenceHistory(capacity: 16, first: 65_530)
        for _ in 0..<10 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        #expect(sent.knownSequence(for: SequenceNumber(3)) == 65_539)
        #expect(sent.knownSequence(for: SequenceNumber(4)) == nil, "not sent yet")
        #expect(sent.knownSequence(for: SequenceNumber(65_529)) == nil, "before the first")
        guard case .lost = sent.take(65_536, hasArrived: false) else {
            Issue.record("not lost")
            return
        }
        guard case .nothing = sent.take(65_536, hasArrived: false) else {
            Issue.record("lost twice")
            return
        }
        guard case .arrivedLate = sent.take(65_536, hasArrived: true) else {
            Issue.record("not late")
            return
        }
        guard case .nothing = sent.take(65_536, hasArrived: true) else {
            Issue.record("arrived twice")
            return
        }
        #expect(sent.highestAcknowledged == 65_536 && sent.isAcknowledged(65_536))
    }

    @Test func theReferenceTimeContinuesAcrossItsWrap() {
        var sent = TransportSequenceHistory(capacity: 16, first: 0)
        expect(sent.clockOffset(0x7F_FFFF) == .zero)
        // 24 bits, signed: the next value is the most negative one.
        expect(sent.clockOffset(-0x80_0000) == .milliseconds(64) * (1 << 24))
        expect(sent.clockOffset(-0x7F_FFFF) == .milliseconds(64) * (1 << 24))
    }

    /// A newcomer gets a key frame at once, and 40 packets a second later.
    @Test(arguments: wrapPoints) func aHistoryThatGrowsHasWhatIsOfUse(first: UInt16) {
        var sent = TransportSequenceHistory(capacity: 4_096, grows: true, first: Int64(first))
        for _ in 0..<400 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        #expect(sent.count == 512 && sent.capacity == 4_096)
        var milliseconds = 0
        for _ in 0..<2_000 {
            milliseconds += 25
            _ = sent.note(bytes: 100, now: .at(milliseconds), isDuringStall: false)
            let useful = sent.nextSequence - Int64(min(79, milliseconds / 25))
            #expect(sent.knownSequence(for: SequenceNumber(truncating: useful)) == useful)
        }
        #expect(sent.count == 128)
    }

    @Test func overwrittenPacketsAreUnknown() {
        var sent = TransportSequenceHistory(capacity: 16, first: 1)
        for _ in 0..<40 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        #expect(sent.knownSequence(for: SequenceNumber(20)) == nil && sent.knownSequence(for: SequenceNumber(30)) == 30)
    }
}
