import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Deadlines and limits of knocks, with instants as arguments.
@Suite struct KnockTableTests {
    private let start = ContinuousClock.now
    private let id = BroadcastID(1)
    private let host = randomFingerprint()

    /// Opens a knock of `browser` in `table`. Returns its ticket, too.
    private func open(
        _ browser: BrowserKey, in table: inout KnockTable, address: UInt32 = 1, at seconds: Double = 0,
        hasPass: Bool = false, records: Bool = false, isAnnounced: Bool = false
    ) throws -> (ticket: KnockID, opening: KnockTable.Opening, signature: [UInt8]) {
        let challenge = KnockChallenge(
            id: id, host: host, identity: try browser.identity, nonce: randomBytes(KnockChallenge.nonceLength))
        let ticket = KnockID.random()
        var request = KnockTable.Request(
            name: "x", kind: "test", address: PeerAddress("192.0.2.\(address)"), records: records,
            pass: hasPass ? .ofPerson : nil, challenge: challenge)
        request.isFromAnnouncement = isAnnounced
        let (opening, _) = table.open(request, ticket: ticket, now: start + .seconds(seconds))
        return (ticket, opening, browser.sign(challenge.signedBytes))
    }

    /// Opens a knock and signs its challenge.
    private func ask(
        _ browser: BrowserKey, in table: inout KnockTable, address: UInt32 = 1, at seconds: Double = 0,
        hasPass: Bool = false, records: Bool = false, isAnnounced: Bool = false
    ) throws -> (ticket: KnockID, question: KnockID, signing: KnockTable.Signing) {
        let knock = try open(
            browser, in: &table, address: address, at: seconds, hasPass: hasPass, records: records,
            isAnnounced: isAnnounced)
        let question = KnockID.random()
        let (signing, _) = table.sign(
            knock.ticket, knock.signature, certificate: nil, question: question, now: start + .seconds(seconds))
        return (knock.ticket, question, signing)
    }

    @Test func unsignedKnocksTakeNoPlaceInTheQueue() throws {
        var table = KnockTable(limits: .knocks())
        for address in 1...40 as ClosedRange<UInt32> {
            #expect(try open(BrowserKey(), in: &table, address: address).opening == .opened)
        }
        #expect(table.questionCount == 0)
        for address in 1...8 as ClosedRange<UInt32> {
            #expect(try ask(BrowserKey(), in: &table, address: address).signing == .accepted)
        }
        #expect(try open(BrowserKey(), in: &table, address: 9).opening == .full)
    }

    @Test func oneAddressHasTwoPlacesInTheQueue() throws {
        var table = KnockTable(limits: .knocks())
        let knocks = try (0..<2).map { _ in try open(BrowserKey(), in: &table) }
        for _ in 0..<6 { #expect(try open(BrowserKey(), in: &table).opening == .opened) }
        for knock in knocks {
            let (signing, _) = table.sign(
                knock.ticket, knock.signature, certificate: nil, question: .random(), now: start)
            #expect(signing == .accepted)
        }
        #expect(try open(BrowserKey(), in: &table).opening == .full && table.questionCount == 2)
        #expect(try ask(BrowserKey(), in: &table, address: 2).signing == .accepted)
    }

    @Test func whoHasNoLinkKeepsNobodyOutWhoHasIt() throws {
        var table = KnockTable(limits: .knocks())
        for address in 1...2 as ClosedRange<UInt32> {
            #expect(try ask(BrowserKey(), in: &table, address: address, isAnnounced: true).signing == .accepted)
        }
        #expect(try open(BrowserKey(), in: &table, address: 3, isAnnounced: true).opening == .full)
        for address in 11...18 as ClosedRange<UInt32> {
            #expect(try ask(BrowserKey(), in: &table, address: address).signing == .accepted)
        }
        // Those without the link had to go.
        #expect(table.questionCount == 8)
        #expect(try open(BrowserKey(), in: &table, address: 19).opening == .full)
    }

    @Test func aRefusalWithoutTheLinkDoesNotHoldWithIt() throws {
        var table = KnockTable(limits: .knocks())
        let person = BrowserKey()
        let first = try ask(person, in: &table, isAnnounced: true)
        _ = table.answer(first.question, .refused(nil), now: start)
        let second = try ask(person, in: &table, at: 1, isAnnounced: true)
        #expect(second.signing == .refusedBefore(nil, seconds: 59))
        #expect(try ask(person, in: &table, at: 2).signing == .accepted)
    }

    /// `share join` and `share record` of one person, started together.
    @Test func watchingAndRecordingAreTwoQuestionsOfOneIdentity() throws {
        var table = KnockTable(limits: .knocks())
        let person = BrowserKey()
        let watching = try ask(person, in: &table)
        let recording = try ask(person, in: &table, records: true)
        #expect(table.questionCount == 2)
        // Both count for their address.
        #expect(try open(BrowserKey(), in: &table).opening == .full)
        // Each replaces the one of its purpose alone.
        #expect(try ask(person, in: &table, records: true).signing == .accepted)
        #expect(table.questionCount == 2)
        #expect(table.beginPoll(recording.ticket, question: .random(), now: start).0 == .outcome(.replaced))
        #expect(table.beginPoll(watching.ticket, question: .random(), now: start).0 == .waiting)
    }

    /// Viewers of a relay that has gone come to the others all at once.
    @Test func whoHasAPassWaitsInNoQueue() throws {
        var table = KnockTable(limits: .knocks())
        for _ in 0..<30 { #expect(try ask(BrowserKey(), in: &table, hasPass: true).signing == .accepted) }
        // They take no place from others.
        for address in 1...8 as ClosedRange<UInt32> {
            #expect(try ask(BrowserKey(), in: &table, address: address).signing == .accepted)
        }
        #expect(try open(BrowserKey(), in: &table, address: 9).opening == .full)
        #expect(try ask(BrowserKey(), in: &table, address: 9, hasPass: true).signing == .accepted)
    }

    @Test func aFullQueueTakesTheNewestFromWhoHoldsMost() throws {
        var table = KnockTable(limits: .knocks(questions: 5))
        var knocks: [(ticket: KnockID, question: KnockID, signing: KnockTable.Signing)] = []
        for address: UInt32 in [1, 1, 2, 2, 3] {
            knocks.append(try ask(BrowserKey(), in: &table, address: address))
            #expect(knocks.last?.signing == .accepted)
        }
        func poll(_ index: Int) -> KnockTable.PollResult {
            table.beginPoll(knocks[index].ticket, question: .random(), now: start).0
        }
        // Addresses 1 and 2 have the most questions; the newest of these came from 2.
        let newcomer = try open(BrowserKey(), in: &table, address: 4)
        #expect(newcomer.opening == .opened && poll(3) == .waiting)
        let (signing, actions) = table.sign(
            newcomer.ticket, newcomer.signature, certificate: nil, question: .random(), now: start)
        #expect(signing == .accepted && poll(3) == .outcome(.displaced) && table.questionCount == 5)
        let isTaken = actions.contains { action in
            if case .withdraw(knocks[3].question, .displaced) = action { true } else { false }
        }
        #expect(isTaken)
        #expect(try ask(BrowserKey(), in: &table, address: 5).signing == .accepted)
        #expect(poll(1) == .outcome(.displaced))
        // Now all addresses have one question each, and none is displaced.
        for address: UInt32 in [4, 6] {
            #expect(try open(BrowserKey(), in: &table, address: address).opening == .full)
        }
        for index in [0, 2, 4] { #expect(poll(index) == .waiting) }
    }

    @Test func theOldestUnsignedKnockOfAnAddressMakesRoomForItsNext() throws {
        var table = KnockTable(limits: .knocks(unsignedOfAddress: 8))
        let other = try open(BrowserKey(), in: &table, address: 2)
        let first = try open(BrowserKey(), in: &table)
        for _ in 0..<8 { #expect(try open(BrowserKey(), in: &table).opening == .opened) }
        for (knock, expected) in [(first, KnockTable.Signing.unknown), (other, .accepted)] {
            let (signing, _) = table.sign(
                knock.ticket, knock.signature, certificate: nil, question: .random(), now: start)
            #expect(signing == expected)
        }
    }

    @Test func unsignedKnocksAreFewInAll() throws {
        var table = KnockTable(limits: .knocks(unsigned: 16))
        var openings: [KnockTable.Opening] = []
        for address in 1...20 as ClosedRange<UInt32> {
            openings.append(try open(BrowserKey(), in: &table, address: address).opening)
        }
        #expect(openings.count { $0 == .opened } == 16 && openings.last == .full)
        _ = table.advance(now: start + .seconds(10))
        #expect(table.nextDeadline == nil, "all are forgotten")
        #expect(try open(BrowserKey(), in: &table, at: 10).opening == .opened)
    }

    @Test func aWrongSignatureAfterTheRightOneChangesNothing() throws {
        var table = KnockTable(limits: .knocks())
        let knock = try ask(BrowserKey(), in: &table)
        let (signing, actions) = table.sign(
            knock.ticket, Array(repeating: 3, count: 64), certificate: nil, question: .random(), now: start)
        #expect(signing == .wrong && actions.isEmpty && table.questionCount == 1)
    }

    @Test func aRefusalIsForgottenAfterItsTime() throws {
        var table = KnockTable(limits: .knocks())
        let browser = BrowserKey()
        let knock = try ask(browser, in: &table)
        _ = table.answer(knock.question, .refused("no"), now: start)
        #expect(try ask(browser, in: &table, at: 0.5).signing == .refusedBefore("no", seconds: 60))
        #expect(try ask(browser, in: &table, at: 59.5).signing == .refusedBefore("no", seconds: 1))
        #expect(try ask(browser, in: &table, at: 60).signing == .accepted)
    }

    @Test func refusalsAreFew() throws {
        var table = KnockTable(limits: .knocks(refusals: 4))
        for second in 0..<10 {
            let knock = try ask(BrowserKey(), in: &table, at: Double(second) / 10)
            _ = table.answer(knock.question, .refused(nil), now: start + .milliseconds(100 * second))
        }
        let last = BrowserKey()
        let knock = try ask(last, in: &table, at: 1)
        _ = table.answer(knock.question, .refused(nil), now: start + .seconds(1))
        #expect(try ask(last, in: &table, at: 1).signing == .refusedBefore(nil, seconds: 60))
    }

    @Test func aQuestionEndsUnansweredEvenIfItIsPolled() throws {
        var table = KnockTable(limits: .knocks())
        let knock = try ask(BrowserKey(), in: &table)
        #expect(table.beginPoll(knock.ticket, question: .random(), now: start).0 == .waiting)
        #expect(table.nextDeadline == start + .seconds(60))
        #expect(table.advance(now: start + .seconds(59.9)).isEmpty)
        _ = table.advance(now: start + .seconds(60))
        #expect(
            table.beginPoll(knock.ticket, question: .random(), now: start + .seconds(60)).0 == .outcome(.unanswered))
        _ = table.advance(now: start + .seconds(120))
        #expect(table.beginPoll(knock.ticket, question: .random(), now: start + .seconds(120)).0 == .unknown)
    }

    @Test func anAbandonedKnockComesBackSomeTimesOnly() throws {
        var table = KnockTable(limits: .knocks(asks: 3))
        let knock = try ask(BrowserKey(), in: &table)
        var now = start
        var results: [KnockTable.PollResult] = []
        for _ in 0..<3 {
            now += .seconds(5)
            _ = table.advance(now: now)
            #expect(table.questionCount == 0)
            results.append(table.beginPoll(knock.ticket, question: .random(), now: now).0)
            table.endPoll(knock.ticket, now: now)
        }
        #expect(results == [.waiting, .waiting, .unknown])
    }

    /// Nobody polls, and then the viewer leaves.
    @Test func aWithdrawnKnockIsNotRevived() throws {
        var table = KnockTable(limits: .knocks())
        let knock = try ask(BrowserKey(), in: &table)
        _ = table.advance(now: start + .seconds(6))
        #expect(table.questionCount == 0)
        _ = table.withdraw(knock.ticket, now: start + .seconds(7))
        #expect(
            table.beginPoll(knock.ticket, question: .random(), now: start + .seconds(8)).0 == .outcome(.withdrawn))
    }

    /// An identity abandons a knock, knocks again and is refused. Its old ticket must not bypass the refusal.
    @Test func anAbandonedKnockOfARefusedIdentityDoesNotComeBack() throws {
        var table = KnockTable(limits: .knocks())
        let browser = BrowserKey()
        let old = try ask(browser, in: &table)
        _ = table.advance(now: start + .seconds(5))
        let new = try ask(browser, in: &table, at: 5)
        _ = table.answer(new.question, .refused(nil), now: start + .seconds(5))
        #expect(table.beginPoll(old.ticket, question: .random(), now: start + .seconds(6)).0 == .unknown)
    }

    @Test func anAnswerToAQuestionThatIsOverChangesNothing() throws {
        var table = KnockTable(limits: .knocks())
        let knock = try ask(BrowserKey(), in: &table)
        _ = table.withdraw(knock.ticket, now: start)
        #expect(table.request(asked: knock.question) == nil)
        #expect(table.answer(knock.question, .granted("x"), now: start).isEmpty)
        #expect(table.beginPoll(knock.ticket, question: .random(), now: start).0 == .outcome(.withdrawn))
    }

    @Test func theEndEndsEveryKnock() throws {
        var table = KnockTable(limits: .knocks())
        let asked = try ask(BrowserKey(), in: &table)
        let unsigned = try open(BrowserKey(), in: &table)
        _ = table.end(now: start)
        for ticket in [asked.ticket, unsigned.ticket] {
            #expect(table.beginPoll(ticket, question: .random(), now: start).0 == .outcome(.ended))
        }
        #expect(try open(BrowserKey(), in: &table).opening == .ended)
        #expect(table.questionCount == 0)
    }
}

extension KnockTable {
    /// Handles a signature as a registry does.
    mutating func sign(
        _ ticket: KnockID, _ signature: [UInt8], certificate: [UInt8]?, question: KnockID, now: Instant,
        hasRoom: (Request) -> Bool = { _ in true }
    ) -> (Signing, [Action]) {
        let isValid = request(of: ticket)?.challenge.isSigned(signature, certificate: certificate) ?? false
        return sign(ticket, signatureIsValid: isValid, question: question, now: now, hasRoom: hasRoom)
    }
}
