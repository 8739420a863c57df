import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct PacketHistoryTests {
    private func fill(_ history: inout PacketHistory, _ count: Int) {
        for _ in 0..<count {
            history.nextSlot[0] = UInt8(truncatingIfNeeded: history.nextToWrite)
            history.commit(length: 10, layout: WrittenPacketLayout())
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

    /// A newcomer gets a key frame at once, and 40 packets a second later.
    @Test(arguments: wrapPoints) func theHistoryOfAForwardedStreamHasWhatIsOfUse(first: UInt16) {
        let source = ForwardedVideo(.vp8, capacity: 16)
        let stream = VideoStreamParameters(ssrc: 1, payloadType: 96, rtxSSRC: 2, rtxPayloadType: 97, mid: "0")
        var history = PacketHistory(
            capacity: 4_096, slotBytes: 1_400, first: Int64(first),
            writer: ForwardedPacketWriter(source, stream, ids: HeaderExtensionMap()))
        func append(_ milliseconds: Int) {
            history.append(
                ForwardedVideo.Packet(), timestamp: RTPTimestamp(0), pictureIDShift: 0, announcesMid: false,
                now: .at(milliseconds))
        }
        for _ in 0..<200 { append(0) }
        #expect(history.count == 256 && history.waitingCount == 200)
        for _ in 0..<200 { history.noteSent(now: .at(0)) }
        var milliseconds = 0
        for number in 0..<2_000 {
            milliseconds += 25
            append(milliseconds)
            // Now and then, many packets wait.
            if number % 40 == 39 { for _ in 0..<40 { history.noteSent(now: .at(milliseconds)) } }
            let useful = history.nextToSend - Int64(min(number / 40 * 40, 40))
            #expect(history.nextToSend == history.nextToWrite - Int64(number % 40 == 39 ? 0 : number % 40 + 1))
            #expect(useful == history.nextToSend || history.sent(useful) != nil)
        }
        #expect(history.count <= 128)
    }

    /// What counts are the packets that could be sent again: sent, not acknowledged, not overwritten, of the last 10 s,
    /// and not before a key frame.
    @Test(arguments: wrapPoints) func unacknowledgedBytesAreThoseThatCouldBeSentAgain(first: UInt16) {
        var history = PacketHistory(capacity: 8, slotBytes: 200, first: Int64(first))
        expect(history.unacknowledgedBytes(now: .at(0)) == 0)
        fill(&history, 8)
        expect(history.unacknowledgedBytes(now: .at(0)) == 0, "they wait")
        for number in 0..<8 { history.noteSent(now: .at(number), transportSequence: Int64(100 + number)) }
        expect(history.unacknowledgedBytes(now: .at(8)) == 80)
        let second = SequenceNumber(first).next
        history.noteAcknowledged(second, transportSequence: 100, trustsRTX: true)
        expect(history.unacknowledgedBytes(now: .at(8)) == 80, "that was another packet")
        for _ in 0..<2 { history.noteAcknowledged(second, transportSequence: 101, trustsRTX: true) }
        expect(history.unacknowledgedBytes(now: .at(8)) == 70)
        #expect(history.sent(Int64(first) + 1)?.isAcknowledged == true)
        // An RTX packet counts where the receiver uses it.
        history.noteRTXSequence(Int64(first) + 2, transportSequence: 200)
        history.noteAcknowledged(second.next, transportSequence: 200, trustsRTX: false)
        expect(history.unacknowledgedBytes(now: .at(8)) == 70)
        history.noteAcknowledged(second.next, transportSequence: 200, trustsRTX: true)
        expect(history.unacknowledgedBytes(now: .at(8)) == 60)
        // Two are overwritten, of which one was acknowledged.
        fill(&history, 2)
        expect(history.unacknowledgedBytes(now: .at(8)) == 50)
        for _ in 0..<2 { history.noteSent(now: .at(9_000), transportSequence: 300) }
        expect(history.unacknowledgedBytes(now: .at(9_000)) == 70)
        expect(history.unacknowledgedBytes(now: .at(10_500)) == 20, "the others are too old")
        history.beginKeyframe()
        expect(history.unacknowledgedBytes(now: .at(10_500)) == 0)
        fill(&history, 1)
        history.noteSent(now: .at(10_600), transportSequence: 301)
        expect(history.unacknowledgedBytes(now: .at(10_600)) == 10)
    }

    @Test func theBudgetOfRetransmissionsFillsWithTheEstimate() {
        var budget = RetransmissionBudget()
        func taken(_ milliseconds: Int, unacknowledged: Int, _ estimate: Bitrate) -> Int {
            var count = 0
            while budget.take(1_000, unacknowledged: unacknowledged, estimate: estimate, now: .at(milliseconds)) {
                count += 1
            }
            return count
        }
        #expect(taken(0, unacknowledged: 0, .kilobits(8_000)) == 0)
        #expect(taken(0, unacknowledged: 20_000, .kilobits(8_000)) == 40)
        #expect(taken(10, unacknowledged: 20_000, .kilobits(8_000)) == 5, "half of 8 Mbit/s")
        #expect(taken(90, unacknowledged: 20_000, .kilobits(10)) == 1, "100 kbit/s at least")
        #expect(taken(90, unacknowledged: 30_000, .kilobits(10)) == 20, "more is missing")
        #expect(taken(3_600_090, unacknowledged: 30_000, .kilobits(8_000)) == 60)
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
