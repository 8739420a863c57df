import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct PacketHistoryTests {
    private func fill(_ history: inout PacketHistory, _ count: Int) {
        for _ in 0..<count {
            history.nextSlot[0] = UInt8(truncatingIfNeeded: history.nextToWrite)
            history.commit(length: 10, layout: RTPPacketLayout())
        }
    }

    @Test(arguments: wrapPoints)
    func sentPacketsStayUntilTheirSlotIsNeeded(first: UInt16) {
        var history = PacketHistory(capacity: 8, slotBytes: 200, first: Int64(first))
        fill(&history, 8)
        #expect(history.room == 0 && history.waitingBytes == 80)
        for _ in 0..<8 { history.noteSent(now: .at(0)) }
        #expect(history.room == 8 && history.waitingBytes == 0)
        #expect(history.sent(Int64(first)).flatMap { history.bytes($0)?[0] } == UInt8(truncatingIfNeeded: first))
        fill(&history, 1)
        #expect(history.sent(Int64(first)) == nil && history.sent(Int64(first) + 1) != nil)
        #expect(history.sent(Int64(first) + 8) == nil, "it waits")
    }

    @Test func packetsBeforeAKeyFrameAreNotRetransmitted() {
        var history = PacketHistory(capacity: 8, slotBytes: 200, first: 65_534)
        fill(&history, 4)
        history.noteSent(now: .at(0))
        history.noteSent(now: .at(0))
        history.dropWaiting()
        history.beginKeyframe()
        #expect(history.isEmpty && history.nextToWrite == 65_536 && history.waitingBytes == 0)
        fill(&history, 2)
        history.noteSent(now: .at(1))
        #expect(history.sent(65_535) == nil && history.sent(65_536) != nil)
    }
}
