import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity

/// One site with many IPv6 addresses cannot fill what waits for signatures, and what was admitted.
@Suite struct SiteLimitsTests {
    private let now = ContinuousClock.now

    private func six(_ number: Int) -> PeerAddress { PeerAddress("2001:db8:0:\(String(number, radix: 16))::1") }

    @Test func knocksThatWaitForASignatureMakeRoom() throws {
        var knocks = KnockTable(limits: .knocks())
        func open(_ address: PeerAddress) throws -> KnockTable.Opening {
            let challenge = KnockChallenge(
                id: BroadcastID(1), host: randomBytes(32), identity: try BrowserKey().identity, nonce: randomBytes(16))
            let request = KnockTable.Request(name: "x", kind: "test", address: address, challenge: challenge)
            return knocks.open(request, ticket: .random(), now: now).0
        }
        for number in 0..<300 { _ = try open(six(number)) }
        #expect(try open(PeerAddress("192.0.2.1")) == .opened)
        #expect(try open(PeerAddress("192.0.2.1")) == .opened)
        #expect(try open(six(200)) == .full, "a /56 has its share")
    }

    @Test func tokensThatNobodyWasAskedAboutMakeRoom() {
        var tokens = TokenTable(limits: .init(ofAddress: 64, all: 64))
        func admit(_ name: String, _ address: PeerAddress, byRule: Bool = true) -> Bool {
            var viewer = Viewer(knock: nil, name: "", kind: "", address: "", fingerprint: [])
            viewer.isAdmittedByRule = byRule
            let key = TokenHash(of: name)
            guard tokens.admit(key, viewer, from: address.key, now: now) else { return false }
            // Its last session has just ended.
            tokens.sessionBegan(key)
            tokens.sessionEnded(key, now: now)
            return true
        }
        for number in 0..<64 { #expect(admit("\(number)", six(number), byRule: number > 0)) }
        #expect(admit("one", PeerAddress("192.0.2.1")))
        #expect(!admit("more", six(70)), "of the same site")
        #expect(tokens.use(TokenHash(of: "0"), now: now) != nil, "a person was asked about it")
    }
}
