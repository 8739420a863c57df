import Foundation
import Identifiers
import MediaCore
import Testing

@testable import HTTP
@testable import Identity
@testable import Signaling

/// JSON of servers that lie: what is decoded can be shown in a terminal, counted and sent.
@Suite struct HostileDocumentTests {
    private static let escape = "\u{1B}]52;c;cm0gLXJmIH4=\u{7}\u{1B}[2J\u{202E}"

    private func document<Value: Decodable>(_ type: Value.Type, _ object: Any) throws -> Value {
        try JSONDecoder().decode(type, from: JSONSerialization.data(withJSONObject: object))
    }

    private let link = Link(
        host: "relay.example", port: 443, id: .random(), secret: Link.randomSecret(),
        fingerprint: [UInt8](repeating: 7, count: 32))

    /// An entry as a relay sends it, with other values for some of its keys.
    private func entry(_ changes: [String: Any] = [:]) -> [String: Any] {
        [
            "id": link.id.text, "title": "The keynote", "route": "relay", "since": 1_700_000_000, "viewers": 3,
            "codec": "VP8", "region": "eu", "link": link.text,
            "application": ["id": "com.example.a", "name": "A", "hasIcon": false],
        ].merging(changes) { $1 }
    }

    private func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
        }
    }

    @Test func aDirectoryIsCleaned() throws {
        let long = String(repeating: "x", count: 20_000)
        for text in [Self.escape + "Bank", Self.escape, long, ""] {
            let found = try document(
                DirectoryDocument.self,
                [
                    "total": -5,
                    "broadcasts": [
                        entry([
                            "title": text, "codec": text, "region": text,
                            "application": ["id": text, "name": text, "hasIcon": true],
                        ])
                    ],
                ])
            let entry = try #require(found.broadcasts.first)
            #expect(found.total == 1)
            let texts = [
                entry.title, entry.codec ?? "", entry.region ?? "", entry.application.id, entry.application.name,
            ]
            for text in texts { #expect(isPrintable(text) && text.count <= 128, "\(text.prefix(80).debugDescription)") }
            #expect(!entry.title.isEmpty && !entry.application.name.isEmpty)
        }
    }

    @Test func aDirectorysNumbersCanBeCalculatedWith() throws {
        for (number, since) in [(Int.min, 0), (-1, 0), (Int.max, 253_402_300_800)] {
            let found = try document(
                DirectoryDocument.self,
                ["total": number, "broadcasts": [entry(["since": number, "viewers": number])]])
            let entry = try #require(found.broadcasts.first)
            #expect(entry.since == since && (0...1_000_000_000).contains(entry.viewers ?? -1))
            #expect((1...1_000_000_000).contains(found.total))
        }
    }

    /// What is no entry does not hide the others.
    @Test func linksOfOtherSchemesAndBroadcastsAreLeftOut() throws {
        let other = Link(
            host: "relay.example", port: 443, id: .random(), secret: Link.randomSecret(),
            fingerprint: [UInt8](repeating: 7, count: 32))
        let links = [
            "javascript:alert(1)//" + link.text, other.text, "", "https://example.com/", "\u{1B}[2J" + link.text,
            link.text + String(repeating: "A", count: 20_000),
        ]
        let found = try document(
            DirectoryDocument.self,
            ["total": 9, "broadcasts": links.map { entry(["link": $0]) } + [["id": 3], "text", entry()]])
        #expect(found.broadcasts.map(\.link) == [link.text] && found.total == 9)
        let many = try document(
            DirectoryDocument.self, ["total": 3_000, "broadcasts": Array(repeating: entry(), count: 3_000)])
        #expect(many.broadcasts.count == 1_000)
    }

    @Test func refusalsAreCleaned() throws {
        let problem = try document(
            Problem.Document.self,
            [
                "type": "x", "title": Self.escape, "status": 403,
                "detail": Self.escape + String(repeating: "y", count: 9_000),
            ])
        #expect(isPrintable(problem.title) && isPrintable(problem.detail) && problem.detail.count <= 256)
    }

    @Test func countsAndRatesOfEventsAreLimited() throws {
        for number in [Int.min, Int.max] {
            guard
                case .viewerCount(let viewers) = HostEvent(
                    name: "viewercount", data: #"{"type":"viewercount","viewercount":\#(number)}"#),
                case .recorderCount(let recorders) = HostEvent(
                    name: "recordercount", data: #"{"type":"recordercount","recordercount":\#(number)}"#),
                case .layers(let layers) = HostEvent(
                    name: "layers",
                    data:
                        #"{"0":[{"bitrate":\#(number),"targetBitrate":\#(number),"width":\#(number),"height":\#(number)}]}"#
                )
            else {
                Issue.record("\(number)")
                continue
            }
            #expect((0...1_000_000_000).contains(viewers) && (0...1_000_000_000).contains(recorders))
            let layer = try #require(layers.layers.first)
            #expect((0...1_000_000_000_000).contains(layer.bitrate.bitsPerSecond))
            #expect((0...65_535).contains(layer.size?.width ?? -1) && (0...65_535).contains(layer.size?.height ?? -1))
        }
        let slowest = ServiceEvent(name: "slowest-bitrate", data: #"{"type":"slowest-bitrate","bitrate":\#(Int.max)}"#)
        #expect(slowest == .slowestBitrate(Bitrate(bitsPerSecond: 1_000_000_000_000)))
        guard case .finished(let reason, _) = TunnelEvent(name: "finished", data: #"{"reason":"\u001b[2Ja\u0007"}"#)
        else {
            Issue.record("no end")
            return
        }
        #expect(isPrintable(reason))
    }

    @Test func serversAreShortTexts() throws {
        #expect(try document(ICEServer.self, ["urls": "stun:a", "username": "n"]).urls == ["stun:a"])
        for server: [String: Any] in [
            ["urls": Array(repeating: "stun:a", count: 17)], ["urls": ["stun:a\r\nb"]],
            ["urls": ["turn:a"], "username": "a\u{0}b"],
            ["urls": ["turn:a"], "credential": String(repeating: "x", count: 20_000)],
        ] {
            #expect(throws: DecodingError.self) { try document(ICEServer.self, server) }
        }
    }
}
