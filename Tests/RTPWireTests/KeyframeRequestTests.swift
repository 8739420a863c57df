import MediaCore
import RTPWire
import Testing

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
