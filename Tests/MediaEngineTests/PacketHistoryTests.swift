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
