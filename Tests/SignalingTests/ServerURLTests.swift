import Signaling
import Testing

@Suite struct ServerURLTests {
    @Test(arguments: [
        ("stun:example.org", "stun:example.org:3478"), ("STUN:example.org:19302", "stun:example.org:19302"),
        ("turn:192.0.2.1", "turn:192.0.2.1:3478?transport=udp"),
        ("turn:[2001:db8::1]:80?transport=tcp", "turn:[2001:db8::1]:80?transport=tcp"),
        ("turns:example.org", "turns:example.org:5349?transport=tcp"),
        ("turns:example.org:443?transport=TCP", "turns:example.org:443?transport=tcp"),
    ])
    func urlsAreReadAndWritten(_ text: String, _ expected: String) throws {
        let url = try ServerURL(text)
        #expect(url.text == expected)
        #expect(try ServerURL(url.text) == url)
    }

    @Test(arguments: [
        "", "stun", "stun:", "turn::3478", "turn:a b", "turn:host:0", "turn:host:65536", "turn:host:1:2", "http://x",
        "turn:host?transport=sctp", "turn:[::1", "turn:[::1]x", "turn:user@host", "turn:host/path", "turn:hôst",
        "turn:" + String(repeating: "a", count: 600), "stun:host?transport=udp?", "stun:host:+3478", "turn:\u{0}",
    ])
    func garbageIsNoServer(_ text: String) {
        #expect(throws: ServerURLError.self) { try ServerURL(text) }
    }

    @Test(arguments: ["stuns:host", "turns:host?transport=udp", "stun:host?transport=tcp"])
    func unusableURLsAreExplained(_ text: String) {
        #expect(throws: ServerURLError.unsupported) { try ServerURL(text) }
    }
}
