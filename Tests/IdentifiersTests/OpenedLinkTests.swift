import Testing

@testable import Identifiers

/// Links of the scheme `share`, which any web page can make.
@Suite struct OpenedLinkTests {
    private let link = Link(
        host: "192.0.2.7", port: 7330, id: BroadcastID(0x1234_5678_9ABC_DEF0), secret: Array(1...16),
        fingerprint: Array(repeating: 7, count: 32)
    )
    private var opened: String { "share" + String(link.text.dropFirst("https".count)) }

    @Test func isTheSameBroadcast() throws {
        #expect(try Link(opening: opened) == link)
        #expect(try Link(parsing: opened) == link)
    }

    /// What the page offers (share-scheme.test.mjs).
    @Test(arguments: ["192.0.2.20:27427", "[2001:db8::1]:8443", "relay.example:443"])
    func isTakenFromThePage(authority: String) throws {
        let fragment = try #require(link.text.split(separator: "#").last)
        let opened = try Link(opening: "share://\(authority)/\(link.id.text)#\(fragment)")
        #expect(opened.authority == authority && opened.id == link.id && opened.secret == link.secret)
    }

    /// Each of them is refused: none names a setting, a file, another server or a verb beside the broadcast.
    @Test func nothingElseIsTaken() {
        let authority = link.authority
        let fragment = link.text.split(separator: "#")[1]
        let path = "\(link.id.text)#\(fragment)"
        let parameters = [
            "accept=any", "record=/etc/passwd", "snapshot=a.png", "name=admin", "relay=https://a", "turn=turn:a",
            "stun=stun:a", "fullscreen", "headless", "json", "stats", "host", "for=0", "max-layer=0", "keep=1h",
        ]
        var texts = parameters.flatMap { parameter in
            [
                "share://\(authority)/\(link.id.text)?\(parameter)#\(fragment)",
                "share://\(authority)/\(path)?\(parameter)",
                "share://\(authority)/\(path)&\(parameter)", "share://\(authority)/\(path) --\(parameter)",
                "--\(parameter)", "share://--\(parameter)",
            ]
        }
        texts += others(authority: authority, path: path, fragment: String(fragment))
        #expect(texts.count > 100)
        for text in texts {
            #expect(throws: LinkError.self, "\(text.prefix(120))") { try Link(opening: text) }
        }
    }

    /// Other texts that are no such link.
    private func others(authority: String, path: String, fragment: String) -> [String] {
        let id = link.id.text
        let rest = opened.dropFirst("share".count)
        let (long, short) = (String(repeating: "A", count: 100_000), path.dropLast())
        return [
            "", "share:", "share:/", "share://", "share:///", "share://host", "share://record",
            "share:\(authority)/\(path)",
            link.text, "http\(rest)", "file:///etc/passwd", "SHARE\(rest)", " \(opened)", "\(opened) ", "\(opened)\n",
            "\"\(opened)\"", "<\(opened)>", "\(opened)\u{0}", "share://user@\(authority)/\(path)",
            "share://user:word@\(authority)/\(path)", "share://\(authority)@192.0.2.8/\(path)",
            "share://\(authority)//\(path)", "share://\(authority)/../\(path)", "share://\(authority)/services/\(path)",
            "share://\(authority)/%2e%2e/\(path)", "share://\(authority)/\(path)#a", "share://\(authority):1/\(path)",
            "share://192.0.2.7:0/\(path)", "share://192.0.2.7:65536/\(path)", "share://192.0.2.7:+7330/\(path)",
            "share://192.0.2.7:07330/\(path)", "share://192.0.2.7\\a:7330/\(path)", "share://[192.0.2.7/\(path)",
            "share://192.0.2.7 /\(path)", "share:///\(path)", "share://\(opened)", "share://\(authority)/\(id)",
            "share://\(authority)/#\(fragment)", "share://\(authority)/\(path)A", "share://\(authority)/\(short)",
            "\(opened)\(opened)", "\(opened)\(long)",
        ]
    }
}
