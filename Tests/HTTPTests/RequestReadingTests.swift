import MediaCore
import NIOCore
import Testing

@testable import HTTP
@testable import Identity
@testable import Signaling

@Suite struct RequestReadingTests {
    @Test func programsAreRecognised() {
        #expect(UntrustedText.kind(userAgent: "share/1") == "share")
        #expect(UntrustedText.kind(userAgent: "Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/140.0") == "Firefox")
        #expect(UntrustedText.kind(userAgent: "Mozilla/5.0 AppleWebKit/537.36 Chrome/156.0 Safari/537.36") == "Chrome")
        #expect(UntrustedText.kind(userAgent: "GStreamer/1.22 x") == "GStreamer")
        #expect(UntrustedText.kind(userAgent: "\u{1B}[2J") == "2J")
        #expect(UntrustedText.kind(userAgent: "x)?\"\u{A0}y,\u{3164}z/1") == "xyz")
        #expect(UntrustedText.kind(userAgent: nil) == "unknown")
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
