import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers

/// Lifetime of tokens, and which are removed when the table is full, with instants as arguments.
@Suite struct TokenTableTests {
    private let start = ContinuousClock.now

    private func viewer(_ identity: ViewerIdentity? = try? BrowserKey().identity) -> Viewer {
        Viewer(
            knock: nil, name: "", kind: "", address: "", fingerprint: identity?.fingerprint ?? [], identity: identity)
    }

    /// Adds a token at that second. Returns its key, or nil if there is no room.
    private func admit(
        _ name: String, in table: inout TokenTable, _ viewer: Viewer? = nil, address: UInt32 = 1, at seconds: Int = 0
    ) -> TokenTable.Key? {
        let key = TokenHash(of: name)
        let isIn = table.admit(
            key, viewer ?? self.viewer(), from: AddressKey(ipv4: address), now: start + .seconds(seconds))
        return isIn ? key : nil
    }

    private func isGood(_ key: TokenTable.Key, in table: TokenTable, at seconds: Int) -> Bool {
        var copy = table
        return copy.use(key, now: start + .seconds(seconds)) != nil
    }

    @Test func anUnusedTokenEndsAndUseOrASessionKeepsIt() throws {
        var table = TokenTable(limits: .init())
        let unused = try #require(admit("unused", in: &table))
        let used = try #require(admit("used", in: &table))
        let watching = try #require(admit("watching", in: &table))
        table.sessionBegan(watching)
        #expect(table.use(used, now: start + .seconds(200)) != nil)
        #expect(isGood(unused, in: table, at: 299) && !isGood(unused, in: table, at: 300))
        #expect(isGood(used, in: table, at: 499) && !isGood(used, in: table, at: 500))
        #expect(isGood(watching, in: table, at: 1_000_000))
        table.sessionEnded(watching, now: start + .seconds(1_000))
        // An outage of 30 s and the rejoin after it.
        #expect(isGood(watching, in: table, at: 1_060) && !isGood(watching, in: table, at: 1_300))
    }

    @Test func knocksOfOneAddressPushOutOnlyEachOther() throws {
        var table = TokenTable(limits: .init(ofAddress: 4, all: 8))
        let idle = try #require(admit("idle", in: &table, address: 2))
        for number in 0..<100 { _ = admit("\(number)", in: &table, address: 1, at: number) }
        #expect(table.count == 5)
        #expect(isGood(idle, in: table, at: 100))
    }

    @Test func tokensWithARecentSessionStay() throws {
        var table = TokenTable(limits: .init(all: 2))
        let watching = try #require(admit("watching", in: &table))
        let interrupted = try #require(admit("interrupted", in: &table))
        table.sessionBegan(watching)
        table.sessionBegan(interrupted)
        table.sessionEnded(interrupted, now: start)
        #expect(admit("stranger", in: &table, address: 2, at: 60) == nil)
        let identity = try BrowserKey().identity
        #expect(!table.hasRoom(for: identity, from: AddressKey(ipv4: 2), now: start + .seconds(60)))
        #expect(isGood(interrupted, in: table, at: 60))
        // The protection ends.
        #expect(table.hasRoom(for: identity, from: AddressKey(ipv4: 2), now: start + .seconds(90)))
        #expect(admit("stranger", in: &table, address: 2, at: 90) != nil)
        #expect(!isGood(interrupted, in: table, at: 90) && isGood(watching, in: table, at: 90))
    }

    @Test func whenFullTheAddressWithMostIdleTokensLosesOne() throws {
        var table = TokenTable(limits: .init(all: 6))
        let alone = try #require(admit("alone", in: &table, address: 9))
        for number in 1...50 { _ = admit("\(number)", in: &table, address: UInt32(number % 2), at: number) }
        #expect(table.count == 6 && isGood(alone, in: table, at: 51))
    }

    @Test func anIdentityHasFewTokens() throws {
        var table = TokenTable(limits: .init(ofIdentity: 3))
        let identity = try BrowserKey().identity
        let keys = (0..<5).compactMap { admit("\($0)", in: &table, viewer(identity), address: UInt32($0), at: $0) }
        #expect(keys.count == 5 && table.count == 3)
        #expect(keys.map { isGood($0, in: table, at: 5) } == [false, false, true, true, true])
    }
}
