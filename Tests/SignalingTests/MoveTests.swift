import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Where a server sends its viewers, and how the page of the next server knows it.
@Suite(.timeLimit(.minutes(1))) struct MoveTests {
    private static let key = [UInt8](repeating: 7, count: AdmissionPass.keyLength)

    private func with(_ body: (SignalingFixture) async throws -> Void) async throws {
        try await SignalingFixture.with(configure: { $0.passKey = Self.key }, body)
    }

    private func alternates(_ stage: SignalingFixture) throws -> SignedAlternates {
        SignedAlternates(
            [stage.link.at(host: "other.example", port: 443).text], of: stage.link.id, signedBy: stage.identity)
    }

    /// Shows a mark, and expects this status.
    private func move(_ mark: String, _ wire: RawHTTPClient, to id: BroadcastID, expecting expected: Int) async throws {
        let status = try await wire.ask(.POST, "/\(id.text)/moved", body: "{\"mark\":\"\(mark)\"}").status
        #expect(status == expected, "\(mark)")
    }

    @Test func eachStreamGetsAMarkThatIsValidOnce() async throws {
        try await with { stage in
            try await stage.client { client in
                let identity = try Identity.ephemeral()
                _ = try await client.offer(
                    description(identity.fingerprint), token: try await client.admissionToken(for: identity))
                let (first, second) = (try await client.events(), try await client.events())
                let sent = try alternates(stage)
                stage.broadcast.send(.alternates(sent))
                var marks: [String] = []
                // The last one begins with it.
                for events in [first, second, try await client.events()] {
                    for try await event in events {
                        guard case .alternates(let got) = event else { continue }
                        #expect(got.links(of: stage.link) == [stage.link.at(host: "other.example", port: 443)])
                        marks.append(try #require(got.mark))
                        break
                    }
                }
                #expect(Set(marks).count == 3)
                try await RawHTTPClient.with(stage.link) { wire in
                    try await move(marks[0], wire, to: stage.link.id, expecting: 204)
                    try await move(marks[0], wire, to: stage.link.id, expecting: 403)
                    try await move(marks[1], wire, to: stage.link.id, expecting: 204)
                    try await move(marks[2], wire, to: .random(), expecting: 403)
                    for other in ["", "x", String(marks[2].dropLast()), String(repeating: "A", count: 75)] {
                        try await move(other, wire, to: stage.link.id, expecting: 403)
                    }
                    let malformed = try await wire.ask(.POST, "/\(stage.link.id.text)/moved", body: "x")
                    #expect(malformed.status == 400)
                    let read = try await wire.ask(.GET, "/\(stage.link.id.text)/moved")
                    #expect(read.status == 405)
                    try await move(marks[2], wire, to: stage.link.id, expecting: 204)
                }
            }
        }
    }

    /// A server that is no relay of a cluster sends nobody on.
    @Test func withoutOtherServersNoMarkIsValid() async throws {
        try await SignalingFixture.with { stage in
            let mark = MoveMark(stage.link.id, key: Self.key).text(nonce: randomBytes(16), at: .secondsSince1970)
            try await RawHTTPClient.with(stage.link) { wire in
                try await move(mark, wire, to: stage.link.id, expecting: 403)
                let page = try await wire.ask(.GET, "/_/page.js")
                #expect(page.text.contains("'\(Base64URL.encode(stage.identity.fingerprint))'"))
            }
        }
    }

    @Test func aMarkIsValidForTwoMinutes() throws {
        let id = BroadcastID.random()
        let marks = MoveMark(id, key: Self.key)
        let nonce = randomBytes(16)
        let text = marks.text(nonce: nonce, at: 10_000)
        for (seconds, isValid) in [
            (9_969, false), (9_970, true), (10_000, true), (10_120, true), (10_121, false), (0, false),
            (UInt64.max, false),
        ] as [(UInt64, Bool)] {
            #expect((marks.nonce(of: text, at: seconds) == nonce) == isValid, "\(seconds)")
        }
        #expect(MoveMark(.random(), key: Self.key).nonce(of: text, at: 10_000) == nil)
        #expect(MoveMark(id, key: [UInt8](repeating: 8, count: 32)).nonce(of: text, at: 10_000) == nil)
        #expect(MoveMark(id, key: Self.key).nonce(of: marks.text(nonce: nonce, at: .max), at: .max) == nil)
        var used = UsedMoveMarks(capacity: 2)
        let now = ContinuousClock.now
        func use(_ nonce: UInt8, _ seconds: Int) -> Bool { used.use([nonce], now: now + .seconds(seconds)) }
        let first = [use(1, 0), use(1, 0), use(2, 0)]
        #expect(first == [true, false, true])
        let full = use(3, 1)
        #expect(!full, "a full table knows no more marks")
        let later = [use(3, 241), use(3, 242)]
        #expect(later == [true, false])
    }

    @Test func onlyTheServerOfTheLinkNamesOthers() throws {
        let (server, host) = (try Identity.ephemeral(), try Identity.ephemeral())
        let link = Link(
            host: "h", port: 1, id: .random(), secret: Link.randomSecret(), fingerprint: server.fingerprint)
        let other = Link(host: "i", port: 2, id: link.id, secret: link.secret, fingerprint: host.fingerprint)
        let strange = Link(host: "i", port: 2, id: link.id, secret: Link.randomSecret(), fingerprint: host.fingerprint)
        let texts = [other.text, strange.text, "nonsense"]
        let good = SignedAlternates(texts, of: link.id, signedBy: server)
        #expect(good.links(of: link) == [other])
        var changed = good
        changed.links[0] = strange.text
        let met = Link(
            host: "h", port: 1, id: link.id, secret: link.secret, fingerprint: server.fingerprint,
            relay: host.fingerprint)
        #expect(changed.links(of: link).isEmpty && good.links(of: met).isEmpty)
        for signed in [
            SignedAlternates(texts, of: link.id, signedBy: host),
            SignedAlternates(texts, of: .random(), signedBy: server),
            SignedAlternates(Array(repeating: other.text, count: 9), of: link.id, signedBy: server),
            SignedAlternates([other.text + " " + other.text], of: link.id, signedBy: server),
        ] { #expect(signed.links(of: link).isEmpty) }
    }
}
