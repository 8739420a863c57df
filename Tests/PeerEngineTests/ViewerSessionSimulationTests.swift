import Identifiers
import MediaCore
import PeerEngine
import TestSupport
import Testing

/// Sessions with servers that answer, refuse, are busy, send the viewer elsewhere and end, in random order and virtual
/// time.
@Suite struct ViewerSessionSimulationTests {
    private typealias Session = SimulatedViewerSession
    private typealias State = Session.State

    /// What the servers do.
    private struct World {
        var session: Session
        var random: SeededGenerator
        /// From then on, nothing answers any more.
        let darkness: MediaInstant
        var age = 0

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed &+ 1_000)
            session = Session(
                seed: seed, followsAlternates: Int.random(in: 0..<4, using: &random) > 0,
                handsSinkOver: Int.random(in: 0..<4, using: &random) > 0)
            darkness = session.now + .seconds(Int.random(in: 1...240, using: &random))
            if Int.random(in: 0..<50, using: &random) == 0 { session.handle(.leave(TestFailure(.stopped))) }
            session.handle(.start)
        }

        var isDark: Bool { session.now >= darkness }

        mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        mutating func anyLink() -> Link { Session.link(Int.random(in: 1...4, using: &random)) }

        mutating func failure() -> TestFailure {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: TestFailure(.refused)
            case 1: TestFailure(.failed)
            case 2: TestFailure(.refused, retryAfter: Int.random(in: -3...40, using: &random))
            case 3: TestFailure(.refused, retryAfter: Int.random(in: 0...40, using: &random), isRateLimited: true)
            case 4: TestFailure(.refused, isQueueFull: true)
            default: TestFailure(.lost)
            }
        }

        mutating func result(of request: State.Request, _ connection: Int) -> State.Result {
            let fails = isDark || chance(20)
            switch request {
            // The loop of the session runs until its end.
            case .open: return !isDark && chance(5) ? .failed(failure()) : .opened
            case .withdraw: return .withdrawn(connection != session.present)
            case .finish(let reason, _): return .finished(reason)
            case .attempt:
                let results: [OutageRecovery.AttemptResult] = [.answered, .gone, .failed, .notAdmitted]
                return .attempted(fails ? .failed : results.randomElement(using: &random)!, failure())
            case _ where fails: return .failed(isDark ? TestFailure(.lost) : failure())
            case .knock: return .knocked(words: "one two three four")
            case .waitForAnswer:
                age += 1
                return .admitted(
                    pass: chance(50) ? "pass" : nil, redirect: chance(30) ? .init(link: anyLink(), age: age) : nil)
            case .connect, .offer: return .connected
            }
        }

        mutating func step() {
            session.wait(.milliseconds(Int.random(in: 1...1_500, using: &random)))
            for index in session.requests.indices.reversed() where index < session.requests.count {
                guard isDark || chance(60) else { continue }
                let request = session.requests[index]
                session.answer(at: index, result(of: request.request, request.connection))
            }
            // Nothing comes from the servers any more: the media ends after 30 s of silence.
            if isDark {
                if chance(10) { session.handle(.ended(session.present, TestFailure(.lost))) }
                return
            }
            if chance(15) { hostSays() }
            if chance(15) { mediaSays() }
            let opening = session.requests.first { if case .open = $0.request { true } else { false } }
            if let pending = session.connections.keys.max(), pending != session.present,
                pending != opening?.connection, chance(25)
            {
                session.handle(.firstFrame(pending))
            }
            if chance(1) { session.handle(.leave(TestFailure(.stopped))) }
        }

        private mutating func hostSays() {
            age += Int.random(in: -1...2, using: &random)
            let words: [State.HostWord] = [
                .alternates([anyLink(), anyLink()]), .stopping, .redirect(.init(link: anyLink(), age: age)),
                .redirect(.init(link: anyLink(), age: age)), .returnToHost, .returnToHost,
                .held(chance(50) ? .blank : nil),
                .publisherInterrupted(chance(50)), chance(10) ? .ended(TestFailure(.hostEnded)) : .held(.pause),
                chance(5) ? .ended(TestFailure(.removed)) : .held(nil),
            ]
            // Of a connection that has ended, too.
            let number = chance(80) ? session.present : Int.random(in: 0...session.present, using: &random)
            session.handle(.told(number, words.randomElement(using: &random)!))
        }

        private mutating func mediaSays() {
            let source = chance(80) ? session.present : Int.random(in: 0...session.present, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: session.handle(.media(source: source, .connected(path: "path"), "connected"))
            case 1: session.handle(.media(source: source, .waiting(.seconds(5)), "waiting"))
            case 2 where chance(20):
                let reason = chance(30) ? TestFailure(.mediaClosed) : failure()
                session.handle(.ended(source, reason))
            case 3:
                let kind: ReconnectionPolicy.Attempt = chance(50) ? .iceRestart : .newSession
                let hasRequest = session.requests.contains { $0.connection == session.present }
                if !hasRequest { session.handle(.recovery(source: source, .attempt(kind, timeout: .seconds(2)))) }
            default: session.handle(.media(source: source, .other, "event"))
            }
        }
    }

    /// Whatever happens, the session keeps its limits, and has ended a while after the servers have gone.
    @Test(arguments: 0..<40) func everySessionKeepsItsLimitsAndEnds(_ group: UInt64) {
        for seed in group * 50..<(group + 1) * 50 {
            var world = World(seed: seed)
            let limit = world.darkness + .seconds(400)
            while world.session.end == nil, world.session.now < limit, world.session.violations.isEmpty { world.step() }
            let session = world.session
            #expect(session.violations.isEmpty, "seed \(seed): \(session.violations)")
            #expect(session.end != nil, "seed \(seed) goes on: \(session.state)")
            #expect(session.connections.count <= 1, "seed \(seed): \(session.connections)")
            #expect(session.state.deadline == nil, "seed \(seed)")
            // A server is asked by at most two connections at once, each with pauses of its own.
            for link in Set(session.knocks.map(\.link)) {
                let times = session.knocks.filter { $0.link == link }.map(\.at)
                let most = times.map { begin in times.count { $0 >= begin && $0 - begin < .seconds(1) } }.max() ?? 0
                #expect(most <= 4, "seed \(seed): \(most) knocks at \(link.host) within a second")
            }
        }
    }

    /// An ended session does nothing, whatever comes.
    @Test func anEndedSessionDoesNothing() {
        var session = Session()
        session.handle(.start)
        session.connect()
        session.handle(.told(session.present, .ended(TestFailure(.hostEnded))))
        session.finish()
        let number = session.present
        let inputs: [State.Input] =
            [
                .start, .leave(TestFailure(.stopped)), .told(number, .stopping), .firstFrame(number),
                .told(number, .redirect(.init(link: Session.link(2), age: 9))), .ended(number, TestFailure(.lost)),
                .media(source: number, .other, "event"), .report(number, "event", ofAny: true),
                .recovery(source: number, .closeConnections),
            ] + (0...20).map { .result($0, .opened) }
        for input in inputs { session.handle(input) }
        session.wait(.seconds(600))
        #expect(session.violations.isEmpty && session.passed.isEmpty)
    }
}
