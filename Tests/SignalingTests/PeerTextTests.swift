import NIOCore
import Testing

@testable import Admission
@testable import Signaling

@Suite struct PeerTextTests {
    @Test func namesAreFitForATerminal() {
        func clean(_ text: String) -> String { PeerText.clean(text, fallback: "somebody") }
        #expect(clean("  Ann \t Lee\n") == "Ann Lee")
        #expect(clean("\u{1B}[31mred\u{7}\u{9B}") == "[31mred")
        #expect(clean("abc\u{202E}def\u{2066}\u{200B}\u{FEFF}") == "abcdef")
        #expect(clean("\u{E000}\u{2028}") == "somebody")
        #expect(clean("") == "somebody")
        #expect(clean("Åsa 李雷 🦊") == "Åsa 李雷 🦊")
        #expect(clean(String(repeating: "x", count: 100_000)).unicodeScalars.count == 64)
        #expect(clean("z" + String(repeating: "\u{301}", count: 500)).unicodeScalars.count == 3)
    }

    @Test(arguments: [
        "\u{3164}", "\u{115F}\u{1160}", "\u{FFA0}", "\u{2800}\u{2800}", "\u{1D159}", "\u{13441}", "\u{16FE4}",
        "\u{034F}\u{FE0F}", "\u{E0041}\u{180B}", "\u{20DD}", "\u{FFFE}", " \u{301} ",
    ])
    func nameThatLooksBlankIsNone(_ name: String) {
        #expect(PeerText.clean(name, fallback: "somebody") == "somebody")
    }

    @Test func blanksWithinANameAreOneSpaceOrNothing() {
        func clean(_ text: String) -> String { PeerText.clean(text, fallback: "somebody") }
        #expect(clean("A\u{2800}\u{2800}B") == "A B")
        #expect(clean("A\u{3164}B\u{115F}") == "AB")
        #expect(clean("A \u{301}B") == "A B")
        #expect(clean("e\u{301}") == "e\u{301}")
    }

    @Test func quotedNameCannotLeaveItsQuotes() {
        #expect(PeerText.quote("Ann") == #""Ann""#)
        let imitation = PeerText.quote(#"Ann" (share, 10.0.0.1) wants to watch. "Bob"#)
        #expect(imitation == #""Ann\" (share, 10.0.0.1) wants to watch. \"Bob""#)
        #expect(PeerText.quote("\u{201D}\u{FF02}\u{2033}") == #""\"\"\"""#)
        #expect(PeerText.quote(#"\"#) == #""\\""#)
    }

    @Test func programsAreRecognised() {
        #expect(PeerText.kind(userAgent: "share/1") == "share")
        #expect(PeerText.kind(userAgent: "Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/140.0") == "Firefox")
        #expect(PeerText.kind(userAgent: "Mozilla/5.0 AppleWebKit/537.36 Chrome/156.0 Safari/537.36") == "Chrome")
        #expect(PeerText.kind(userAgent: "GStreamer/1.22 x") == "GStreamer")
        #expect(PeerText.kind(userAgent: "\u{1B}[2J") == "2J")
        #expect(PeerText.kind(userAgent: "x)?\"\u{A0}y,\u{3164}z/1") == "xyz")
        #expect(PeerText.kind(userAgent: nil) == "unknown")
    }

    @Test func addressesAreCountedByNetwork() throws {
        func address(_ text: String) -> PeerAddress { PeerAddress(text) }
        #expect(address("::ffff:10.0.0.1").key == address("10.0.0.1").key)
        #expect(address("::ffff:10.0.0.1").text == "10.0.0.1")
        #expect(address("10.0.0.1").key != address("10.0.0.2").key)
        #expect(address("2001:db8::1").key == address("2001:db8::ffff").key)
        #expect(address("2001:db8::1").key != address("2001:db8:0:1::1").key)
    }

    @Test func eventsSurviveAnyCut() throws {
        let text =
            HostEvent.viewerCount(7).serialized + ":\n\n" + "event: x\r\ndata: {\r\ndata: }\r\n\r\n"
            + HostEvent.ended(reason: "bye \"you\"\n").serialized
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var parser = EventStreamParser()
            var events: [HostEvent?] = []
            try parser.feed(bytes[..<cut]) { events.append(HostEvent(name: $0, data: $1)) }
            try parser.feed(bytes[cut...]) { events.append(HostEvent(name: $0, data: $1)) }
            #expect(events == [.viewerCount(7), .other(name: "x", json: "{\n}"), .ended(reason: "bye \"you\"")])
        }
    }

    @Test func endlessLineEndsTheStream() {
        var parser = EventStreamParser()
        #expect(throws: EventStreamParser.TooLong.self) {
            try parser.feed(repeatElement(UInt8(ascii: "x"), count: 70_000)) { _, _ in }
        }
    }
}
