import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity

/// Who gets a place of a service that has no free one.
@Suite struct PairingPlacesTests {
    private let now = ContinuousClock.now

    private func table(places: Int) throws -> PairingTable {
        PairingTable(service: try describe(), limits: .init(pairings: 1_000, broadcasts: places))
    }

    /// Pairs, and opens a session.
    /// - Returns: the session; nil if there is no place.
    private func pair(
        _ number: Int, at address: String, as decision: PairingDecision = .acceptedByRule, opens: Bool = true,
        in table: inout PairingTable, _ actions: inout [PairingTable.Action]
    ) throws -> SessionID? {
        let host =
            [UInt8](repeating: UInt8(number / 256), count: 16) + [UInt8](repeating: UInt8(number % 256), count: 16)
        let request = PairingTable.Request(
            transcript: PairingTranscript(
                application: budget, service: try #require(conference), serviceFingerprint: fingerprint(255),
                hostFingerprint: host, hostNonce: nonce(1), serviceNonce: nonce(2)),
            certificate: [], address: PeerAddress(address))
        guard case .opened = table.open(request, ticket: identifier("t", number), now: now).0 else { return nil }
        _ = table.sign(
            identifier("t", number), signatureIsValid: true, setup: [:], question: identifier("q", number), now: now)
        actions = table.decide(identifier("q", number), decision, token: "token \(number)", now: now)
        guard table.pairing(token: "token \(number)") != nil else { return nil }
        guard opens else { return identifier("s", number) }
        guard case .opening = table.beginSession(token: "token \(number)", fingerprint: host, now: now) else {
            return nil
        }
        return table.sessionOpened(token: "token \(number)", identifier("s", number), now: now)
            ? identifier("s", number) : nil
    }

    private func ended(_ actions: [PairingTable.Action]) -> [SessionID] {
        actions.compactMap { if case .effect(.endSession(let session, _)) = $0 { session } else { nil } }
    }

    @Test func anAddressLosesItsNewestPlacesBeyondAQuarter() throws {
        var table = try table(places: 16)
        var actions: [PairingTable.Action] = []
        var held: [SessionID] = []
        for number in 1...16 {
            held.append(try #require(try pair(number, at: "192.0.2.1", in: &table, &actions)))
        }
        #expect(try pair(17, at: "192.0.2.1", in: &table, &actions) == nil, "its own places are its own affair")
        for number in 20..<32 {
            #expect(try pair(number, at: "192.0.2.\(number)", in: &table, &actions) != nil)
            #expect(ended(actions) == [held.removeLast()])
        }
        #expect(held.count == 4, "a quarter stays")
        #expect(try pair(40, at: "192.0.2.40", in: &table, &actions) == nil)
    }

    @Test func aPlaceWithoutASessionIsLostFirst() throws {
        var table = try table(places: 4)
        var actions: [PairingTable.Action] = []
        #expect(try pair(1, at: "192.0.2.1", opens: false, in: &table, &actions) != nil)
        for number in 2...4 { #expect(try pair(number, at: "192.0.2.1", in: &table, &actions) != nil) }
        #expect(try pair(5, at: "192.0.2.5", in: &table, &actions) != nil)
        #expect(ended(actions).isEmpty && table.pairing(token: "token 1") == nil)
    }

    @Test func whatAPersonHasAcceptedStays() throws {
        var table = try table(places: 4)
        var actions: [PairingTable.Action] = []
        for number in 1...3 { #expect(try pair(number, at: "192.0.2.1", as: .accepted, in: &table, &actions) != nil) }
        let last = try pair(4, at: "192.0.2.1", in: &table, &actions)
        #expect(try pair(5, at: "192.0.2.5", in: &table, &actions) != nil)
        #expect(ended(actions) == [last])
        #expect(try pair(6, at: "192.0.2.6", in: &table, &actions) == nil)
    }

    @Test func aNetworkCountsAsFourOrSixteenAddresses() throws {
        var table = try table(places: 32)
        var actions: [PairingTable.Action] = []
        // 128 places would be the share of a /48; an address holds eight.
        for number in 0..<32 {
            #expect(try pair(number, at: "2001:db8:0:\(String(number, radix: 16))::1", in: &table, &actions) != nil)
        }
        #expect(try pair(50, at: "192.0.2.50", in: &table, &actions) == nil, "32 are the share of a /56")
        table = try self.table(places: 32)
        for number in 0..<16 {
            let address = number < 9 ? "2001:db8::1" : "192.0.2.\(number)"
            #expect(try pair(number, at: address, in: &table, &actions) != nil)
        }
        for number in 16..<32 { #expect(try pair(number, at: "192.0.2.\(number)", in: &table, &actions) != nil) }
        #expect(try pair(50, at: "2001:db8:0:1::1", in: &table, &actions) != nil, "another address of the same network")
        #expect(ended(actions) == [identifier("s", 8)])
    }

    @Test func anIdleSessionEndsWhenItsPlaceIsWanted() throws {
        var table = try table(places: 2)
        var actions: [PairingTable.Action] = []
        let first = try #require(try pair(1, at: "192.0.2.1", as: .accepted, in: &table, &actions))
        let second = try #require(try pair(2, at: "192.0.2.2", as: .accepted, in: &table, &actions))
        #expect(try pair(3, at: "192.0.2.3", in: &table, &actions) == nil)
        table.idleSessions = [second, first]
        #expect(try pair(4, at: "192.0.2.4", in: &table, &actions) != nil)
        #expect(actions.contains(.effect(.endSession(second, because: .idle))) && !ended(actions).contains(first))
    }

    @Test func placesOfToolsWithTheFixedTokenCount() throws {
        var table = try table(places: 4)
        var actions: [PairingTable.Action] = []
        table.otherPlaces = [PeerAddress("192.0.2.9").key]
        for number in 1...3 { #expect(try pair(number, at: "192.0.2.1", in: &table, &actions) != nil) }
        #expect(table.isFull)
        #expect(ended(table.makeRoom(for: PeerAddress("192.0.2.1").key, now)).isEmpty)
        #expect(ended(table.makeRoom(for: PeerAddress("192.0.2.10").key, now)) == [identifier("s", 3)])
    }
}
