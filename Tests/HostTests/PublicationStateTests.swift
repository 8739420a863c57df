import Admission
import Identifiers
import Identity
import MediaCore
import PeerConnection
import PeerEngine
import Signaling
import TestSupport
import Testing

@testable import Host

/// Publications to endpoints that answer, refuse, are lost, stop and ask about viewers, in virtual time.
@Suite struct PublicationStateTests {
    private typealias State = PublicationState

    private struct Pending {
        let id: Int
        let connection: Int
        let request: State.Request
    }

    /// A publication and its endpoints. It checks what always holds.
    private struct Stage {
        var state: State
        var random: SeededGenerator
        private(set) var now = MediaInstant(nanoseconds: 1_000_000_000)
        var requests: [Pending] = []
        /// The connections that are open, and how often each was closed.
        private(set) var open: Set<Int> = [0]
        private(set) var closed: [Int] = []
        /// The offers and sessions that have not been ended.
        private(set) var sessions: Set<SessionID> = []
        private(set) var listening: Set<Int> = []
        private(set) var questions: [Int: KnockID] = [:]
        private(set) var begun: [Int] = []
        private(set) var reported: [ServiceEvent] = []
        private(set) var lists = 0
        private(set) var decisions = 0
        private(set) var moves: [Int] = []
        private(set) var end: EndReason?
        private(set) var violations: [String] = []

        init(isOverRelay: Bool = false, seed: UInt64 = 1) {
            random = SeededGenerator(seed: seed)
            state = State(.init(name: "relay", isOverRelay: isOverRelay), service: PublicationStateTests.service)
        }

        var present: Int { state.presentNumber ?? -1 }
        var session: SessionID? { state.present?.session }

        mutating func handle(_ input: State.Input) {
            take(state.handle(input, now: now, using: &random), input)
            check()
        }

        mutating func wait(_ time: MediaDuration) {
            let end = now + time
            while let deadline = state.deadline, deadline <= end {
                now = max(now, deadline)
                take(state.advance(now: now, using: &random), nil)
                check()
                if let next = state.deadline, next <= now { return violations.append("the deadline stays") }
            }
            now = end
        }

        /// Answers the oldest request, or the one at this place.
        mutating func answer(at index: Int = 0, _ result: State.Result) {
            guard requests.indices.contains(index) else { return violations.append("there is no request") }
            let request = requests.remove(at: index)
            switch result {
            case .paired: open.insert(request.connection)
            case .opened(let session, _): sessions.insert(session)
            case .replaced(true): if case .replace(let session) = request.request { sessions.remove(session) }
            default: break
            }
            handle(.result(request.id, of: request.connection, result))
        }

        /// Opens the connection that is asked for.
        mutating func connect(hasServers: Bool = false) { answer(.opened(.random(), hasServers: hasServers)) }

        mutating func start(hasServers: Bool = false) {
            handle(.start)
            connect(hasServers: hasServers)
        }

        /// The relay tells of others, and of the broadcast.
        mutating func learnRelays(_ count: Int = 2) {
            handle(.told(present, .broadcastURL(PublicationStateTests.broadcast)))
            handle(.told(present, .alternates((1...count).map { PublicationStateTests.link($0).text })))
        }

        /// The session has ended by itself.
        mutating func lose(_ session: SessionID) {
            sessions.remove(session)
            handle(.ended(session))
        }

        private mutating func check() {
            if open.count > 2 { violations.append("three connections: \(open)") }
            if open.count == 2, case .moving = state.phase {
            } else if open.count == 2 {
                violations.append("two connections without a move")
            }
            if end != nil, state.deadline != nil { violations.append("a deadline after the end") }
        }

        private mutating func take(_ actions: [State.Action], _ input: State.Input?) {
            for action in actions {
                if end != nil {
                    switch action {
                    case .close, .discard: break
                    default: violations.append("\(action) after the end")
                    }
                }
                take(action)
            }
        }

        private mutating func take(_ action: State.Action) {
            switch action {
            case .request(let id, let number, .pair(let link, _)):
                if open.contains(number) || link.id != PublicationStateTests.service { violations.append("\(action)") }
                requests.append(Pending(id: id, connection: number, request: .pair(link, resuming: BroadcastID(7))))
            case .request(let id, let number, let request):
                expectOpen(number, action)
                requests.append(Pending(id: id, connection: number, request: request))
            case .begin(let number):
                expectOpen(number, action)
                if begun.contains(number) { violations.append("\(number) begins twice") }
                begun.append(number)
                listening.insert(number)
            case .listen(let number):
                expectOpen(number, action)
                if !listening.insert(number).inserted { violations.append("\(number) listens twice") }
            case .close(let number, let session, _):
                expectOpen(number, action)
                open.remove(number)
                closed.append(number)
                if let session { sessions.remove(session) }
                if begun.contains(number) { questions = [:] }
            case .discard(let session):
                if sessions.remove(session) == nil { violations.append("a session is discarded twice") }
            case .report(let event, _): reported.append(event)
            case .list: lists += 1
            case .ask(let question, let knock, _):
                questions[question] = knock.id
                if questions.count > 64 { violations.append("too many questions") }
            case .decide(_, let knock, let number):
                expectOpen(number, action)
                guard let question = questions.first(where: { $0.value == knock })?.key else {
                    return violations.append("a decision without a question")
                }
                questions[question] = nil
                decisions += 1
            case .withdraw(let question, let knock, _):
                if questions.removeValue(forKey: question) != knock { violations.append("no question is withdrawn") }
            case .moved(let number):
                expectOpen(number, action)
                moves.append(number)
            case .end(let reason):
                if end != nil { violations.append("ended twice") }
                end = reason
            case .emit: break
            }
        }

        private mutating func expectOpen(_ number: Int, _ action: State.Action) {
            if !open.contains(number) { violations.append("\(action): no such connection") }
        }

        mutating func endStream(isRefused: Bool) {
            guard listening.remove(present) != nil else { return }
            handle(.streamEnded(present, isRefused: isRefused))
        }
    }

    private static let service = ServiceID("io.sharekit.relay")!
    private static let broadcast = Link(
        host: "192.0.2.9", port: 443, id: BroadcastID(7), secret: [UInt8](repeating: 1, count: 16),
        fingerprint: [UInt8](repeating: 9, count: 32)
    ).text

    private static func link(_ number: Int, id: ServiceID = service) -> ServiceLink {
        ServiceLink(
            host: "192.0.2.\(number)", port: 443, id: id,
            fingerprint: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32))
    }

    private static func knockID(_ number: UInt64) -> KnockID {
        KnockID(bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 16))
    }

    private static func knock(_ number: UInt64) -> Knock {
        let identity = ViewerIdentity(fingerprint: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32))!
        return Knock(
            told: knockID(number), name: "viewer", kind: "share", address: "192.0.2.1", identity: identity,
            records: false, words: ShortAuthenticationString(words: ["basket", "cactus", "barrel", "carrot"])!)
    }

    private static let relay = State.Endpoint(name: "another", isOverRelay: false)
    private static let stopped = EndReason(.stopped, "done")

    // MARK: One endpoint

    @Test func aRefusedOfferEndsThePublication() {
        var stage = Stage()
        stage.handle(.start)
        stage.answer(.failed(EndReason(.refused, "no")))
        #expect(stage.end?.sentence == "no" && stage.begun.isEmpty)
        #expect(stage.closed == [0] && stage.sessions.isEmpty && stage.violations.isEmpty)
    }

    /// What a request has opened that nobody waits for any more is closed.
    @Test func aSessionThatIsOpenedAfterTheEndIsClosed() {
        var stage = Stage()
        stage.handle(.start)
        stage.handle(.close(Self.stopped))
        stage.handle(.close(Self.stopped))
        stage.connect()
        #expect(stage.sessions.isEmpty && stage.closed == [0] && stage.violations.isEmpty)
    }

    @Test func theServersAreUsedIfNothingConnectsWithinTwoSeconds() {
        var stage = Stage()
        stage.start(hasServers: true)
        stage.wait(.milliseconds(1_999))
        #expect(stage.requests.isEmpty)
        stage.wait(.milliseconds(1))
        stage.answer(.restarted(.failed, usesServers: true))
        stage.answer(.replaced(true))
        #expect(stage.sessions.isEmpty)
        // The endpoint may still have the former session.
        stage.answer(.failed(EndReason(.refused, "busy")))
        stage.wait(.milliseconds(1_999))
        #expect(stage.requests.isEmpty && stage.end == nil)
        stage.wait(.milliseconds(1))
        stage.connect(hasServers: true)
        stage.handle(.media(.connected))
        stage.wait(.seconds(60))
        #expect(stage.requests.isEmpty && stage.begun == [0] && stage.violations.isEmpty)
    }

    @Test func aConnectionWithoutTheServersStays() {
        var stage = Stage()
        stage.start(hasServers: true)
        stage.handle(.media(.connected))
        stage.wait(.seconds(60))
        #expect(stage.requests.isEmpty && stage.violations.isEmpty)
        // An outage uses them before ICE is restarted.
        stage.handle(.media(.interrupted))
        guard case .restart(_, .added) = stage.requests.first?.request else {
            Issue.record("the servers are not used")
            return
        }
        stage.answer(.restarted(.failed, usesServers: true))
        stage.wait(.seconds(3))
        guard case .restart(_, .kept) = stage.requests.first?.request else {
            Issue.record("ICE is not restarted")
            return
        }
    }

    @Test func iceIsRestartedEachThreeSecondsUntilMediaComesBack() {
        var stage = Stage()
        stage.start()
        stage.handle(.media(.connected))
        stage.handle(.media(.interrupted))
        stage.handle(.media(.interrupted))
        for _ in 0..<5 {
            #expect(stage.requests.count == 1)
            stage.answer(.restarted(.failed, usesServers: false))
            stage.wait(.milliseconds(2_999))
            #expect(stage.requests.isEmpty)
            stage.wait(.milliseconds(1))
        }
        stage.handle(.media(.resumed))
        // The restart in progress is of the former outage.
        stage.handle(.media(.interrupted))
        #expect(stage.requests.count == 2)
        stage.answer(.restarted(.gone, usesServers: false))
        #expect(stage.end == nil)
        stage.answer(.restarted(.gone, usesServers: false))
        #expect(stage.end?.code == .serviceEnded && stage.closed == [0] && stage.violations.isEmpty)
    }

    /// A relay that has started anew does not know the service yet.
    @Test func aServiceBehindARelayIsNotGoneWhileItsRelayStartsAnew() {
        var stage = Stage(isOverRelay: true)
        stage.start()
        for event in [ServiceEvent.alternates([Self.link(2).text]), .reconnect, .viewer(Self.knock(1))] {
            stage.handle(.told(0, event))
        }
        #expect(stage.reported.isEmpty && stage.questions.isEmpty)
        for _ in 0..<5 {
            stage.endStream(isRefused: true)
            stage.wait(.seconds(1))
        }
        stage.handle(.media(.interrupted))
        stage.answer(.restarted(.gone, usesServers: false))
        stage.wait(.seconds(3))
        #expect(stage.end == nil && stage.requests.count == 1 && stage.violations.isEmpty)
    }

    @Test func aPortThatRefusesTwiceIsAServiceThatHasGone() {
        var stage = Stage()
        stage.start()
        stage.endStream(isRefused: true)
        stage.wait(.seconds(1))
        stage.handle(.streamOpened(0))
        stage.endStream(isRefused: true)
        #expect(stage.end == nil)
        stage.wait(.milliseconds(999))
        #expect(stage.listening.isEmpty)
        stage.wait(.milliseconds(1))
        stage.endStream(isRefused: true)
        #expect(stage.end?.code == .serviceEnded && stage.closed == [0] && stage.violations.isEmpty)
    }

    @Test func theServicesReasonIsWaitedForAfterTheMedia() throws {
        var stage = Stage()
        stage.start()
        stage.lose(try #require(stage.session))
        stage.wait(.milliseconds(999))
        #expect(stage.end == nil)
        var other = stage
        stage.handle(.told(0, .finished(reason: "the hall is closed", nextStep: "tomorrow")))
        #expect(stage.end?.sentence.contains("the hall is closed") == true && stage.end?.remedy == "tomorrow")
        other.wait(.milliseconds(1))
        #expect(other.end?.code == .serviceEnded && other.closed == [0])
        #expect(stage.violations.isEmpty && other.violations.isEmpty)
    }

    @Test func viewersAreAskedAboutOnceAndWithdrawnWithTheStream() {
        var stage = Stage()
        stage.start()
        for number in 0..<100 { stage.handle(.told(0, .viewer(Self.knock(UInt64(number))))) }
        stage.handle(.told(0, .viewer(Self.knock(0))))
        #expect(stage.questions.count == 64)
        let (question, knock) = stage.questions.first!
        stage.handle(.decided(question, knock, .accepted))
        stage.handle(.decided(question, knock, .accepted))
        #expect(stage.questions.count == 63)
        stage.endStream(isRefused: false)
        #expect(stage.questions.isEmpty)
        // A decision that comes late is of the former question.
        stage.wait(.seconds(1))
        stage.handle(.told(0, .viewer(Self.knock(0))))
        stage.handle(.decided(question, Self.knockID(0), .accepted))
        #expect(stage.questions.count == 1 && stage.violations.isEmpty)
    }

    // MARK: Other relays

    @Test func aRelayThatIsAboutToStopGoesOnUntilAnotherOneHasTheBroadcast() {
        var stage = Stage()
        stage.start()
        stage.handle(.told(0, .reconnect))
        #expect(stage.requests.isEmpty)
        stage.learnRelays()
        stage.answer(.failed(EndReason(.refused, "no")))
        #expect(stage.open == [0])
        stage.answer(.paired(Self.relay))
        #expect(stage.open.count == 2)
        stage.connect()
        #expect(stage.open == [stage.present] && stage.moves == [stage.present] && stage.closed == [0])
        #expect(stage.state.relays.isEmpty && stage.sessions.count == 1 && stage.violations.isEmpty)
    }

    @Test func aRelayWithoutMediaIsLeftAfterTwoRestarts() {
        var stage = Stage()
        stage.start()
        stage.learnRelays(1)
        stage.handle(.media(.interrupted))
        for _ in 0..<2 {
            stage.answer(.restarted(.failed, usesServers: false))
            #expect(stage.closed.isEmpty)
            stage.wait(.seconds(3))
        }
        #expect(stage.closed == [0] && stage.open.isEmpty)
        // The other relay is tried for 30 s, with a pause of a second after each round.
        for _ in 0..<30 {
            stage.answer(.failed(EndReason(.refused, "no")))
            #expect(stage.end == nil && stage.requests.isEmpty)
            stage.wait(.seconds(1))
        }
        #expect(stage.end?.code == .connectionLost && stage.violations.isEmpty)
    }

    @Test func onlyTheSameServiceOfEightRelaysIsBelieved() throws {
        var stage = Stage()
        stage.start()
        let other = try #require(ServiceID("com.example.other"))
        stage.handle(.told(0, .alternates([Self.link(1, id: other).text, "nonsense"])))
        #expect(stage.state.relays.isEmpty)
        stage.learnRelays(20)
        #expect(stage.state.relays.count == 8 && stage.lists == 1)
    }

    @Test func aPairingThatSucceedsAfterTheEndIsClosed() {
        var stage = Stage()
        stage.start()
        stage.handle(.told(0, .reconnect))
        stage.learnRelays()
        stage.handle(.close(Self.stopped))
        #expect(stage.closed == [0] && stage.end?.code == .stopped)
        stage.answer(.paired(Self.relay))
        #expect(stage.open.isEmpty && stage.closed.count == 2 && stage.violations.isEmpty)
    }

    // MARK: Everything

    /// What the endpoints do.
    private struct World {
        var stage: Stage
        var random: SeededGenerator
        /// From then on, nothing answers any more.
        let darkness: MediaInstant

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed &+ 1_000)
            stage = Stage(isOverRelay: Int.random(in: 0..<6, using: &random) == 0, seed: seed)
            darkness = stage.now + .seconds(Int.random(in: 1...120, using: &random))
            stage.handle(.start)
        }

        var isDark: Bool { stage.now >= darkness }

        mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        mutating func result(of request: State.Request) -> State.Result {
            // The first connection is open most of the time.
            let fails = isDark || chance(stage.begun.isEmpty ? 3 : 20)
            let failure = State.Result.failed(EndReason(.refused, "no"))
            switch request {
            case .pair: return fails ? failure : .paired(PublicationStateTests.relay)
            case .open: return fails ? failure : .opened(.random(), hasServers: chance(40))
            case .restart:
                let failure: OutageRecovery.AttemptResult = chance(20) ? .gone : .failed
                return .restarted(fails ? .failed : chance(50) ? .answered : failure, usesServers: chance(50))
            case .replace: return .replaced(isDark || chance(70))
            }
        }

        mutating func step() {
            stage.wait(.milliseconds(Int.random(in: 1...1_500, using: &random)))
            for index in stage.requests.indices.reversed() where index < stage.requests.count {
                guard isDark || chance(60) else { continue }
                stage.answer(at: index, result(of: stage.requests[index].request))
            }
            if chance(20) { stage.endStream(isRefused: !isDark && chance(3)) }
            if isDark {
                // The media ends after 30 s of silence.
                if chance(10), let session = stage.session { stage.lose(session) }
                return
            }
            if chance(20), !stage.begun.isEmpty { stage.learnRelays(Int.random(in: 1...3, using: &random)) }
            if chance(30) { endpointSays() }
            if chance(30) {
                let changes: [State.MediaChange] = [.connected, .connected, .interrupted, .resumed]
                stage.handle(.media(changes.randomElement(using: &random)!))
            }
            if chance(2), let session = stage.session { stage.lose(session) }
            if chance(1) { stage.handle(.ended(.random())) }
            if chance(15), let (question, knock) = stage.questions.min(by: { $0.key < $1.key }) {
                stage.handle(.decided(question, knock, .accepted))
            }
            if chance(1), chance(50) { stage.handle(.close(PublicationStateTests.stopped)) }
        }

        private mutating func endpointSays() {
            let links = (1...3).map { PublicationStateTests.link($0).text }
            let knock = UInt64(Int.random(in: 0..<80, using: &random))
            let events: [ServiceEvent] = [
                .broadcastURL(PublicationStateTests.broadcast), .broadcastURL("nonsense"), .alternates(links),
                .alternates([]), .viewer(PublicationStateTests.knock(knock)),
                .viewerWithdrawn(PublicationStateTests.knockID(knock)),
                .slowestBitrate(nil), .candidates(fragment: "fragment"), .serviceInfo(ServiceInfo(viewers: 3)),
                chance(30) ? .reconnect : .slowestBitrate(nil),
                chance(5) ? .finished(reason: "over", nextStep: nil) : .serviceInfo(ServiceInfo()),
            ]
            // Of a connection that has been closed, too.
            let number = chance(90) ? stage.present : Int.random(in: 0...3, using: &random)
            if chance(20) { stage.handle(.streamOpened(number)) }
            stage.handle(.told(number, events.randomElement(using: &random)!))
        }
    }

    /// Whatever happens: a connection that was opened is closed exactly once, two are open during a move alone, the
    /// publication ends once, and a while after the endpoints have gone.
    @Test(arguments: 0..<40) func everyPublicationKeepsItsLimitsAndEnds(_ group: UInt64) {
        var (moves, questions) = (0, 0)
        for seed in group * 50..<(group + 1) * 50 {
            var world = World(seed: seed)
            let limit = world.darkness + .seconds(400)
            while world.stage.end == nil, world.stage.now < limit, world.stage.violations.isEmpty { world.step() }
            // The results of requests that nobody waits for any more.
            while let request = world.stage.requests.first { world.stage.answer(world.result(of: request.request)) }
            world.stage.wait(.seconds(600))
            let stage = world.stage
            moves += stage.moves.count
            questions += stage.decisions
            #expect(stage.violations.isEmpty, "seed \(seed): \(stage.violations)")
            #expect(stage.end != nil, "seed \(seed) goes on: \(stage.state)")
            #expect(
                stage.open.isEmpty && Set(stage.closed).count == stage.closed.count, "seed \(seed): \(stage.closed)")
            #expect(stage.sessions.isEmpty && stage.state.deadline == nil, "seed \(seed): \(stage.sessions)")
        }
        #expect(moves > 0 && questions > 0, "group \(group) moves \(moves) times, and asks \(questions) times")
    }
}
