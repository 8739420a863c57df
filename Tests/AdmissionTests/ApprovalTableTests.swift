import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity

/// Random requests, signatures, polls, answers and times, in both ways in which unsigned requests have places.
@Suite struct ApprovalTableTests {
    struct Question: ApprovalQuestion {
        var id: KnockID
        let requester: Int
        var hasLinkSecret: Bool
    }

    struct Request: ApprovalRequest {
        typealias Question = ApprovalTableTests.Question
        typealias Grant = Int

        let address: PeerAddress
        let requester: Int
        let purpose: Int
        let hasPlace: Bool

        func isReplaced(by newer: Request) -> Bool { requester == newer.requester && purpose == newer.purpose }
    }

    private typealias Table = ApprovalTable<Request>

    /// A linear congruential generator (Knuth's MMIX).
    private struct Generator {
        var state: UInt64

        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
    }

    /// The table with what its caller knows.
    private struct World {
        let limits: ApprovalLimits
        var table: Table
        var generator: Generator
        var now = ContinuousClock.now
        var opened = 0
        var asked = 0
        /// What the person is asked, by the question.
        var questions: [KnockID: Question] = [:]
        /// How many times each ticket was asked about.
        var asks: [KnockID: Int] = [:]
        var requests: [KnockID: Request] = [:]
        /// Polls that are held.
        var polls: [KnockID: Int] = [:]
        /// Refused, without the link's secret or with it, until then.
        var refusals: [Int: (hadSecret: Bool, until: ContinuousClock.Instant)] = [:]
        var hasEnded = false

        init(isPolledUnsigned: Bool, seed: Int) {
            limits = ApprovalLimits(
                signature: .seconds(10), answer: .seconds(20), abandoned: .seconds(3), kept: .seconds(8),
                refusal: .seconds(15), questions: .init(all: 4, ofAddress: 2),
                unsigned: isPolledUnsigned ? nil : .init(all: 6, ofAddress: 3), outcomes: 6, refusals: 16,
                asks: isPolledUnsigned ? 1 : 2)
            table = Table(limits: limits)
            generator = Generator(state: UInt64(seed))
        }

        mutating func perform(_ actions: [Table.Action]) {
            for action in actions {
                switch action {
                case .ask(let question):
                    #expect(questions.updateValue(question, forKey: question.id) == nil)
                    #expect(!isRefused(question), "a refused requester is not asked about")
                case .withdraw(let question, _): #expect(questions.removeValue(forKey: question) != nil)
                case .endPolls(let ticket, let result):
                    #expect(result != .waiting)
                    polls[ticket] = nil
                case .count, .effect: break
                }
            }
        }

        func isRefused(_ question: Question) -> Bool {
            refusals[question.requester].map { $0.until > now && ($0.hadSecret || !question.hasLinkSecret) } ?? false
        }

        /// One of the last twelve.
        mutating func ticket() -> KnockID {
            identifier("t", max(0, opened - 12) + generator.next(max(1, min(opened, 12))) + 1)
        }

        mutating func question() -> KnockID {
            asked += 1
            return identifier("q", asked)
        }

        mutating func step() {
            let ticket = ticket()
            switch generator.next(24) {
            case 0...3: open()
            case 4...9: sign(ticket)
            case 10...15: poll(ticket)
            case 16, 17:
                guard let held = polls[ticket] else { return }
                polls[ticket] = held > 1 ? held - 1 : nil
                table.endPoll(ticket, now: now)
            case 18: perform(table.withdraw(ticket, now: now))
            case 19: answer()
            default:
                now += .milliseconds(250 * (1 + generator.next(8)))
                if let deadline = table.nextDeadline, deadline <= now { perform(table.advance(now: now)) }
                #expect(table.nextDeadline.map { $0 > now } ?? true, "a deadline is over, but nothing has happened")
            }
        }

        private mutating func open() {
            let requester = generator.next(6)
            let request = Request(
                address: PeerAddress("192.0.2.\(generator.next(4))"), requester: requester,
                purpose: generator.next(2), hasPlace: generator.next(8) > 0)
            opened += 1
            let ticket = identifier("t", opened)
            let (opening, actions) = table.open(request, ticket: ticket, now: now)
            #expect((opening == .ended) == hasEnded)
            if opening == .opened { requests[ticket] = request }
            perform(actions)
        }

        private mutating func sign(_ ticket: KnockID) {
            switch table.sign(ticket, signatureIsValid: generator.next(12) > 0) {
            case .first:
                guard let request = requests[ticket] else { return }
                let question = Question(
                    id: question(), requester: request.requester, hasLinkSecret: generator.next(2) == 0)
                if table.refusal(of: request.requester, question, now: now) != nil {
                    #expect(isRefused(question))
                    perform(table.finish(ticket, .refused(nil), now))
                } else if table.hasRoom(for: request) {
                    perform(table.ask(ticket, question, now: now))
                    #expect(questions[question.id] == question)
                    asks[ticket, default: 0] += 1
                }
            case .wrong(let actions):
                perform(actions)
                #expect(actions.isEmpty || table.entries[ticket] == nil)
            case .repeated: #expect(table.entries[ticket] != nil)
            case .unknown: #expect(table.entries[ticket] == nil)
            }
        }

        private mutating func poll(_ ticket: KnockID) {
            let known = Set(questions.keys)
            let (result, actions) = table.beginPoll(ticket, question: question(), now: now)
            if result == .waiting { polls[ticket, default: 0] += 1 }
            perform(actions)
            if !Set(questions.keys).subtracting(known).isEmpty { asks[ticket, default: 0] += 1 }
        }

        private mutating func answer() {
            guard let question = questions.keys.sorted(by: { $0.text < $1.text }).first, let asked = questions[question]
            else { return }
            questions[question] = nil
            guard generator.next(2) == 0 else {
                return perform(table.answer(question, .granted(1), now: now))
            }
            let until = now + limits.refusal
            perform(table.answer(question, .refused("no"), now: now))
            refusals[asked.requester] = (asked.hasLinkSecret, until)
        }

        func check() {
            let open = table.entries.values.compactMap(\.question)
            #expect(Set(open.map(\.id)) == Set(questions.keys), "the person is asked what the table waits for")
            let places = table.entries.values.filter {
                $0.question != nil && (limits.unsigned == nil || $0.request.hasPlace)
            }
            #expect(places.count <= limits.questions.all)
            for address in Set(places.map(\.request.address.key)) {
                #expect(places.count { $0.request.address.key == address } <= limits.questions.ofAddress)
            }
            for (number, entry) in places.enumerated() {
                let isAlone = !places.dropFirst(number + 1).contains { $0.request.isReplaced(by: entry.request) }
                #expect(isAlone, "a requester has one question for a purpose")
            }
            for (ticket, held) in polls { #expect(table.entries[ticket]?.polls == held) }
            #expect(asks.values.allSatisfy { $0 <= limits.asks })
            #expect(table.entries.count <= 64 && table.refusals.count <= limits.refusals)
        }
    }

    @Test(arguments: [false, true], 1...40) func whateverHappensQuestionsAndPollsEnd(isPolled: Bool, seed: Int) {
        var world = World(isPolledUnsigned: isPolled, seed: seed)
        for _ in 0..<600 {
            world.step()
            world.check()
        }
        world.hasEnded = true
        world.perform(world.table.end(now: world.now))
        #expect(world.questions.isEmpty && world.polls.isEmpty)
        world.now += .seconds(60)
        world.perform(world.table.advance(now: world.now))
        #expect(world.table.entries.isEmpty && world.table.refusals.isEmpty && world.table.nextDeadline == nil)
        #expect(world.asked > 50, "seed \(seed)")
    }
}
