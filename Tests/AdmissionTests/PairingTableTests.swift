import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity

/// Deadlines and limits of pairings, with instants as arguments. The file is long, as each limit has its test.
@Suite struct PairingTableTests {
    private let start = ContinuousClock.now
    private let accepted = PairingDecision.accepted

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func request(_ host: Int, address: Int = 1) throws -> PairingTable.Request {
        PairingTable.Request(
            transcript: PairingTranscript(
                application: budget, service: try #require(conference), serviceFingerprint: fingerprint(255),
                hostFingerprint: fingerprint(UInt8(host)), hostNonce: nonce(1), serviceNonce: nonce(2)),
            certificate: [], address: PeerAddress("192.0.2.\(address)"))
    }

    private func ticket(_ number: Int) -> KnockID { identifier("t", number) }
    private func question(_ number: Int) -> KnockID { identifier("q", number) }
    private func session(_ number: Int) -> SessionID { identifier("s", number) }

    private func table(_ limits: PairingTable.Limits = .init(), _ fields: [SetupField] = []) throws -> PairingTable {
        PairingTable(service: try describe(fields), limits: limits)
    }

    @discardableResult
    private func open(
        _ number: Int, host: Int? = nil, address: Int? = nil, in table: inout PairingTable, at seconds: Double = 0
    ) throws -> (PairingTable.Opening, [PairingTable.Action]) {
        table.open(
            try request(host ?? number, address: address ?? number), ticket: ticket(number), now: at(seconds))
    }

    @discardableResult
    private func sign(
        _ number: Int, in table: inout PairingTable, at seconds: Double = 0
    ) throws -> (PairingTable.Signing, [PairingTable.Action]) {
        table.sign(
            ticket(number), signatureIsValid: true, setup: [:], question: question(number), now: at(seconds))
    }

    private func poll(_ number: Int, in table: inout PairingTable, at seconds: Double = 0) throws
        -> PairingTable.PollResult
    {
        let result = table.beginPoll(ticket(number), question: question(number), now: at(seconds)).0
        table.endPoll(ticket(number), now: at(seconds))
        return result
    }

    /// Grants pairing `number` of the host with the same number.
    private func grant(_ number: Int, host: Int? = nil, in table: inout PairingTable, at seconds: Double = 0) throws {
        try open(number, host: host, in: &table, at: seconds)
        try sign(number, in: &table, at: seconds)
        _ = table.decide(question(number), .accepted, token: "token \(number)", now: at(seconds))
    }

    private func begin(_ number: Int, in table: inout PairingTable, at seconds: Double = 0) throws {
        let started = table.beginSession(
            token: "token \(number)", fingerprint: fingerprint(UInt8(number)), now: at(seconds))
        guard case .opening = started else {
            Issue.record("\(started)")
            return
        }
        let isOpened = table.sessionOpened(token: "token \(number)", session(number), now: at(seconds))
        #expect(isOpened)
    }

    // MARK: From the request to the answer

    @Test func aPairingIsGranted() throws {
        var table = try table()
        #expect(try open(1, in: &table).0 == .opened && poll(1, in: &table) == .waiting)
        let (signing, actions) = try sign(1, in: &table, at: 4)
        #expect(signing == .accepted && table.questionCount == 1)
        guard case .ask(let asked) = try #require(actions.first) else {
            Issue.record("\(actions)")
            return
        }
        #expect(asked.application == budget && asked.address == "192.0.2.1" && asked.fingerprint == fingerprint(1))
        #expect(table.request(asked: asked.id) == asked)
        let grant = PairingGrant(token: "token", lease: .seconds(10), broadcastURL: "https://example.com")
        let outcome = PairingTable.Outcome.granted(grant)
        let granted = table.decide(
            asked.id, .accepted, token: "token", broadcastURL: "https://example.com", now: at(6))
        #expect(granted == [.count(outcome), .endPolls(ticket: ticket(1), .outcome(outcome))])
        #expect(try poll(1, in: &table, at: 7) == .outcome(outcome) && table.broadcastCount == 1)
        #expect(table.decide(asked.id, .refused(nil), token: "x", now: at(8)).isEmpty, "it is answered")
        #expect(table.pairing(token: "token") == asked && table.pairing(token: "other") == nil)
    }

    @Test func aWrongSignatureEndsAnUnsignedPairingOnly() throws {
        var table = try table()
        try open(1, in: &table)
        var signed = table
        #expect(
            table.sign(ticket(1), signatureIsValid: false, setup: [:], question: question(1), now: start)
                == (.wrong, [.endPolls(ticket: ticket(1), .unknown)]))
        #expect(try poll(1, in: &table) == .unknown && sign(1, in: &table).0 == .unknown)
        try sign(1, in: &signed)
        #expect(
            signed.sign(ticket(1), signatureIsValid: false, setup: [:], question: question(1), now: start)
                == (.wrong, []))
        #expect(try signed.questionCount == 1 && sign(1, in: &signed) == (.accepted, []))
    }

    @Test func anIncompleteSetupMayBeSentAgain() throws {
        let title = try SetupField(name: "title", label: "Title")
        var table = try table(.init(), [title])
        try open(1, in: &table)
        #expect(try sign(1, in: &table).0 == .malformed(.missing(title)))
        let (signing, _) = table.sign(
            ticket(1), signatureIsValid: true, setup: ["title": "x"], question: question(1), now: start)
        #expect(signing == .accepted && table.request(asked: question(1))?.setup == ["title": "x"])
    }

    @Test func otherAnswersArePolled() throws {
        for (decision, outcome) in [
            (PairingDecision.refused("no"), PairingTable.Outcome.refused("no")), (.unanswered, .unanswered),
            (.busy, .busy(nil)),
        ] {
            var table = try table()
            try open(1, in: &table)
            try sign(1, in: &table)
            _ = table.decide(question(1), decision, token: "t", now: start)
            #expect(try poll(1, in: &table) == .outcome(outcome))
            #expect(table.broadcastCount == 0 && table.pairing(token: "t") == nil)
        }
    }

    @Test func aRefusedHostIsRefusedForAMinuteWithoutAQuestion() throws {
        var table = try table()
        for (number, second, isAsked) in [(1, 0.0, true), (2, 59, false), (3, 60, true)] {
            try open(number, host: 1, in: &table, at: second)
            try sign(number, in: &table, at: second)
            #expect((table.request(asked: question(number)) != nil) == isAsked)
            if !isAsked { #expect(try poll(number, in: &table, at: second) == .outcome(.refused("no"))) }
            _ = table.decide(question(number), .refused("no"), token: "t", now: at(second))
        }
    }

    // MARK: Time

    @Test func whatNobodyPollsIsWithdrawn() throws {
        var table = try table()
        try open(1, in: &table)
        try open(2, in: &table)
        try sign(2, in: &table)
        #expect(table.nextDeadline == at(5) && table.advance(now: at(4)).isEmpty)
        #expect(table.beginPoll(ticket(1), question: question(1), now: at(4)).0 == .waiting)
        let actions = table.advance(now: at(5))
        #expect(actions == [.withdraw(question: question(2), because: .left), .count(.withdrawn)])
        #expect(try poll(2, in: &table, at: 5) == .unknown)
        // A poll that is held counts.
        #expect(table.advance(now: at(100)).isEmpty && table.nextDeadline == at(180))
        table.endPoll(ticket(1), now: at(100))
        #expect(table.nextDeadline == at(105))
        #expect(table.advance(now: at(105)) == [.count(.withdrawn)] && table.nextDeadline == nil)
    }

    @Test func pairingsEndInTime() throws {
        var table = try table()
        try open(1, in: &table)
        try open(2, in: &table)
        for number in 1...2 {
            #expect(table.beginPoll(ticket(number), question: question(number), now: start).0 == .waiting)
        }
        try sign(2, in: &table, at: 100)
        let unanswered = PairingTable.Outcome.unanswered
        #expect(
            table.advance(now: at(160)) == [
                .withdraw(question: question(2), because: .unanswered), .count(unanswered),
                .endPolls(ticket: ticket(2), .outcome(unanswered)),
            ])
        #expect(table.advance(now: at(180)) == [.endPolls(ticket: ticket(1), .unknown)])
        #expect(try poll(2, in: &table, at: 200) == .outcome(unanswered))
        #expect(table.advance(now: at(220)).isEmpty && table.nextDeadline == nil)
        #expect(!table.isKnown(ticket(2)))
    }

    @Test func aHostThatLeavesWithdraws() throws {
        var table = try table()
        try open(1, in: &table)
        try sign(1, in: &table)
        #expect(
            table.withdraw(ticket(1), now: start) == [
                .withdraw(question: question(1), because: .left), .count(.withdrawn),
                .endPolls(ticket: ticket(1), .outcome(.withdrawn)),
            ])
        #expect(table.withdraw(ticket(1), now: start).isEmpty && table.questionCount == 0)
        #expect(table.withdraw(ticket(9), now: start).isEmpty)
    }

    // MARK: Limits

    @Test func oneAddressHasFourPairings() throws {
        var table = try table()
        for number in 1...4 { #expect(try open(number, address: 1, in: &table).0 == .opened) }
        #expect(try open(5, address: 1, in: &table).0 == .full && open(6, address: 2, in: &table).0 == .opened)
    }

    @Test func aFullTableTakesTheNewestFromWhoHasMost() throws {
        var table = try table(.init(pairings: 5))
        for (number, address) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            try open(number, address: address, in: &table)
            try sign(number, in: &table)
        }
        let (opening, actions) = try open(6, address: 4, in: &table)
        #expect(opening == .opened)
        #expect(actions.first == .withdraw(question: question(4), because: .displaced))
        #expect(try poll(4, in: &table) == .outcome(.displaced))
        #expect(try open(7, address: 5, in: &table).0 == .opened && poll(2, in: &table) == .outcome(.displaced))
        #expect(try open(8, address: 6, in: &table).0 == .full && open(9, address: 1, in: &table).0 == .full)
    }

    @Test func pairingsAreFewInAll() throws {
        var table = try table()
        let openings = try (1...80).map { try open($0, in: &table).0 }
        #expect(openings.count { $0 == .opened } == 64 && openings.last == .full)
        #expect(table.approvals.entries.count == 64)
    }

    @Test func outcomesAndRefusalsAreFew() throws {
        var table = try table(.init(outcomes: 8, refusals: 4))
        for number in 1...20 {
            try open(number, in: &table, at: Double(number) / 10)
            try sign(number, in: &table, at: Double(number) / 10)
            _ = table.decide(question(number), .refused(nil), token: "", now: at(Double(number) / 10))
        }
        #expect(table.approvals.entries.count == 8 && table.approvals.refusals.count == 4)
        #expect(try poll(1, in: &table) == .unknown && poll(20, in: &table) == .outcome(.refused(nil)))
    }

    // MARK: One host

    @Test func aSignedPairingReplacesTheOlderOnes() throws {
        var table = try table()
        try open(1, host: 7, in: &table)
        try sign(1, in: &table)
        try open(2, host: 7, in: &table)
        #expect(try poll(1, in: &table) == .waiting, "the newer one is a claim")
        let (_, actions) = try sign(2, in: &table)
        #expect(actions.first == .withdraw(question: question(1), because: .replaced))
        #expect(try poll(1, in: &table) == .outcome(.replaced) && table.questionCount == 1)
    }

    /// Everybody has the host's certificate, as it is sent in each handshake.
    @Test func aClaimFromElsewhereReplacesNothing() throws {
        var table = try table()
        try open(1, host: 7, address: 1, in: &table)
        try open(2, host: 7, address: 2, in: &table)
        try open(3, host: 7, address: 1, in: &table)
        #expect(try poll(1, in: &table) == .outcome(.replaced), "the same host starts anew")
        #expect(try poll(2, in: &table) == .waiting && poll(3, in: &table) == .waiting)
        try sign(3, in: &table)
        #expect(try poll(2, in: &table) == .outcome(.replaced))
    }

    // MARK: Broadcasts

    @Test func aGrantReservesABroadcast() throws {
        var table = try table(.init(broadcasts: 2))
        for number in 1...3 {
            try open(number, in: &table)
            try sign(number, in: &table)
        }
        for number in 1...3 { _ = table.decide(question(number), .accepted, token: "token \(number)", now: start) }
        #expect(table.broadcastCount == 2 && table.pairing(token: "token 3") == nil)
        #expect(try poll(3, in: &table) == .outcome(.busy(PairingTable.full(2))))
        #expect(try open(4, in: &table).0 == .busy)
        _ = table.advance(now: at(10))
        #expect(table.broadcastCount == 0 && table.pairing(token: "token 1") == nil)
        #expect(try poll(1, in: &table, at: 10) == .outcome(.expired))
        #expect(try open(5, in: &table, at: 10).0 == .opened)
    }

    @Test func aTokenHoldsForOneCertificateAndOneSession() throws {
        var table = try table()
        try grant(1, in: &table)
        func begin(_ token: String, _ host: UInt8) -> PairingTable.SessionStart {
            table.beginSession(token: token, fingerprint: fingerprint(host), now: at(1))
        }
        #expect(begin("token 2", 1) == .unknownToken && begin("token 1", 2) == .otherCertificate)
        #expect(begin("token 1", 1) == .opening(try #require(table.pairing(token: "token 1"))))
        #expect(begin("token 1", 1) == .taken)
        #expect(table.sessionOpened(token: "token 1", session(1), now: at(2)) == true)
        #expect(begin("token 1", 1) == .taken && !table.sessionOpened(token: "token 1", session(2), now: at(2)))
        #expect(
            table.sessionEnded(session(1), now: at(3)) == [
                .count(.expired), .endPolls(ticket: ticket(1), .outcome(.expired)),
            ])
        #expect(begin("token 1", 1) == .unknownToken && table.broadcastCount == 0)
    }

    @Test func anOfferThatFailsDoesNotExtendTheLease() throws {
        var table = try table()
        try grant(1, in: &table)
        for second in [3.0, 6, 9] {
            let started = table.beginSession(token: "token 1", fingerprint: fingerprint(1), now: at(second))
            #expect(started != .taken && started != .unknownToken)
            table.sessionFailed(token: "token 1")
        }
        #expect(table.nextDeadline == at(10))
        _ = table.advance(now: at(10))
        #expect(table.broadcastCount == 0)
        #expect(table.beginSession(token: "token 1", fingerprint: fingerprint(1), now: at(10)) == .unknownToken)
    }

    @Test func aSessionWithoutMediaEnds() throws {
        var table = try table()
        try grant(1, in: &table)
        try begin(1, in: &table, at: 9)
        for second in [15.0, 24, 33] {
            #expect(table.advance(now: at(second)).isEmpty)
            table.mediaReceived(session(1), now: at(second))
        }
        let actions = table.advance(now: at(43))
        #expect(actions.first == .effect(.endSession(session(1), because: .silent)) && table.broadcastCount == 0)
        table.mediaReceived(session(1), now: at(44))
        #expect(table.broadcastCount == 0)
    }

    @Test func aNewGrantReplacesTheSessionOfTheSameHost() throws {
        var table = try table(.init(broadcasts: 1))
        try grant(1, in: &table)
        try begin(1, in: &table)
        #expect(try open(2, host: 1, in: &table).0 == .opened, "its own broadcast does not count")
        try sign(2, in: &table)
        #expect(table.broadcastCount == 1 && table.pairing(token: "token 1") != nil)
        let actions = table.decide(question(2), .accepted, token: "token 2", now: start)
        #expect(actions.first == .effect(.endSession(session(1), because: .replaced)))
        #expect(table.broadcastCount == 1 && table.pairing(token: "token 1") == nil)
        #expect(try poll(1, in: &table) == .outcome(.replaced))
    }

    @Test func aHostThatLeavesEndsItsBroadcast() throws {
        var table = try table()
        try grant(1, in: &table)
        try grant(2, in: &table)
        try begin(2, in: &table)
        for number in 1...2 {
            let actions = table.withdraw(ticket(number), now: start)
            #expect(actions.contains(.effect(.endSession(session(number), because: .left))) == (number == 2))
            #expect(try poll(number, in: &table) == .outcome(.withdrawn))
        }
        #expect(table.broadcastCount == 0)
    }

    @Test func theEndEndsEverything() throws {
        var table = try table()
        try open(1, in: &table)
        try open(2, in: &table)
        try sign(2, in: &table)
        try grant(3, in: &table)
        try grant(4, in: &table)
        try begin(4, in: &table)
        let actions = table.end(now: start)
        #expect(actions.contains(.withdraw(question: question(2), because: .ended)))
        #expect(actions.contains(.effect(.endSession(session(4), because: .ended))) && table.broadcastCount == 0)
        for number in 1...4 { #expect(try poll(number, in: &table) == .outcome(.ended)) }
        #expect(try open(5, in: &table).0 == .ended)
    }
}
