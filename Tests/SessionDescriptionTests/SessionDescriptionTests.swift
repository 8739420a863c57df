import Testing

@testable import SessionDescription

@Suite struct SessionDescriptionTests {
    @Test(arguments: RecordedOffers.all)
    func whatWasReadIsWrittenAgain(text: String) throws {
        let once = try SessionDescription.parse(text)
        #expect(try SessionDescription.parse(once.serialised) == once)
        #expect(once.serialised.utf8.count > text.utf8.count / 2)
    }

    @Test func linesMayEndInEitherWay() throws {
        let crlf = RecordedOffers.chromium.split(separator: "\n").joined(separator: "\r\n")
        #expect(try SessionDescription.parse(crlf) == SessionDescription.parse(RecordedOffers.chromium))
    }

    @Test(arguments: [
        "", "v", "v=1\r\n", "a=v\nv=0\n", "hello", "\u{0}", "v=0\nnonsense\n", "v=0\na=\u{7}\n", "{\"sdp\":1}",
    ])
    func otherTextsAreNotSDP(text: String) {
        #expect(throws: SDPError.notSDP) { try SessionDescription.parse(text) }
    }

    @Test(arguments: [
        "m=", "m=video", "m=video 9 X", "m=video -1 X 96", "m=video 65536 X 96", "m=video +9 X 96", "m=ä 9 X 96",
    ])
    func malformedMediaLinesAreNamed(line: String) {
        #expect(throws: SDPError.malformedMedia(index: 0)) { try SessionDescription.parse("v=0\n\(line)\n") }
    }

    @Test func limitsHold() throws {
        let base = "v=0\n"
        #expect(throws: SDPError.tooLarge) {
            try SessionDescription.parse(base + "a=" + String(repeating: "x", count: 65_536))
        }
        #expect(throws: SDPError.tooLarge) {
            try SessionDescription.parse(base + String(repeating: "a=x\n", count: 2_000))
        }
        _ = try SessionDescription.parse(base + String(repeating: "a=x\n", count: 1_999))
        #expect(throws: SDPError.tooLarge) {
            try SessionDescription.parse(base + String(repeating: "m=video 9 X 96\n", count: 17))
        }
        #expect(try SessionDescription.parse(base + String(repeating: "m=video 9 X 96\n", count: 16)).media.count == 16)
    }

    @Test func attributesKeepTheirOrderAndValues() throws {
        let text =
            "v=0\r\no=- 1 2 IN IP4 0.0.0.0\r\na=b:1:2\r\na=a\r\na=b:\r\nm=audio 9/2 RTP/AVP 0 8\r\nc=IN IP4 0.0.0.0\r\na=c: d\r\n"
        let description = try SessionDescription.parse(text)
        #expect(description.attributes == [SDPAttribute("b", "1:2"), SDPAttribute("a"), SDPAttribute("b", "")])
        #expect(description["b"] == "1:2")
        let media = try #require(description.media.first)
        #expect(media.port == 9 && media.formats == ["0", "8"] && media["c"] == " d")
        #expect(media.direction == .sendAndReceive)
    }
}
