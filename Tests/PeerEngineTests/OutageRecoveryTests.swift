import MediaCore
import PeerEngine
import Testing

/// Outages in virtual time: 30 s take a millisecond.
@Suite struct OutageRecoveryTests {
    private typealias Attempt = ReconnectionPolicy.Attempt
    private typealias Result = OutageRecovery.AttemptResult

    /// A viewer, and a host that answers its attempts. Times are milliseconds since the host was last heard.
    private struct Outage {
        private let start = MediaInstant(nanoseconds: 5_000_000_000)
        var recovery = OutageRecovery()
        /// The host's answer to the attempt with this number, and the time that it takes.
        var answer: (_ number: Int, _ attempt: Attempt) -> (Result, milliseconds: Int) = { _, _ in (.failed, 2_000) }
        /// Further inputs with their times.
        var events: [(Int, OutageRecovery.Input)] = []
        /// The times at which this machine gets other addresses.
        var moves: [Int] = []

        private(set) var attempts: [(time: Int, attempt: Attempt, timeout: MediaDuration)] = []
        private(set) var reports: [MediaDuration] = []
        private(set) var cleanUps: [Int] = []
        private(set) var end: (time: Int, reason: OutageRecovery.End)?
        private var attempted = 0

        mutating func play(silence: Int = 3_000) {
            events.append((silence, .interrupted(lastHeard: start)))
            var now = 0
            while end == nil {
                events.sort { $0.0 < $1.0 }
                let deadline = recovery.deadline.map { Int(($0 - start).nanoseconds + 999_999) / 1_000_000 }
                if let event = events.first, event.0 <= deadline ?? .max {
                    events.removeFirst()
                    now = max(now, event.0)
                    handle(event.1, now)
                } else if let deadline {
                    now = max(now, deadline)
                    let hasMoved = recovery.watchesAddresses && moves.contains { $0 > attempted && $0 <= now }
                    handle(.timeout(addressesChanged: hasMoved), now)
                } else {
                    return
                }
            }
        }

        private mutating func handle(_ input: OutageRecovery.Input, _ now: Int) {
            for action in recovery.handle(input, now: start + .milliseconds(now)) {
                switch action {
                case .report(let outage): reports.append(outage)
                case .attempt(let attempt, let timeout):
                    let (result, time) = answer(attempts.count, attempt)
                    attempts.append((now, attempt, timeout))
                    attempted = now
                    events.append((now + time, .attemptEnded(result)))
                case .cleanUp: cleanUps.append(now)
                case .end(let reason): end = (now, reason)
                }
            }
        }

        var kinds: [Attempt] { attempts.map(\.attempt) }
        var times: [Int] { attempts.map(\.time) }
    }

    // MARK: How long it lasts

    @Test func anOutageIsReportedOnEachSecondAndEndsTheSessionAfterThirty() {
        var outage = Outage()
        outage.play(silence: 3_125)
        #expect(outage.reports == [.milliseconds(3_125)] + (4...29).map { .seconds($0) })
        #expect(outage.end?.time == 30_000 && outage.end?.reason == .silence)
        #expect(outage.cleanUps.isEmpty)
    }

    @Test func anOutageThatIsNoticedTooLateIsOverAtOnce() {
        var outage = Outage()
        outage.play(silence: 30_000)
        #expect(outage.attempts.isEmpty && outage.reports.isEmpty)
        #expect(outage.end?.time == 30_000 && outage.end?.reason == .silence)
    }

    @Test func afterTheEndNothingIsDone() {
        var outage = Outage()
        outage.events = [(31_000, .heard), (32_000, .interrupted(lastHeard: MediaInstant(nanoseconds: 0)))]
        outage.play()
        #expect(outage.recovery.deadline == nil)
        let late = outage.recovery.handle(.heard, now: MediaInstant(nanoseconds: 50_000_000_000))
        #expect(late.isEmpty)
    }

    // MARK: Attempts

    @Test func anICERestartBringsTheSessionBack() {
        var outage = Outage()
        outage.answer = { _, _ in (.answered, 50) }
        outage.events = [(3_200, .heard)]
        outage.play()
        #expect(outage.kinds == [.iceRestart] && outage.times == [3_000])
        #expect(outage.cleanUps == [3_200] && outage.end == nil)
        #expect(!outage.recovery.isInterrupted && outage.recovery.deadline == nil)
    }

    /// The network is dead for 20 s. Each answer is awaited for the timeout of its attempt.
    @Test func anOutageOfTwentySecondsIsSurvived() {
        var outage = Outage()
        outage.answer = { number, _ in number < 6 ? (.failed, number < 4 ? 2_000 : 3_000) : (.answered, 100) }
        outage.events = [(19_600, .heard)]
        outage.play()
        #expect(outage.times == [3_000, 5_400, 7_800, 10_200, 12_600, 16_000, 19_400])
        #expect(outage.kinds.allSatisfy { $0 == .iceRestart })
        #expect(outage.attempts.map(\.timeout) == (0..<7).map { .seconds($0 < 4 ? 2 : 3) })
        #expect(outage.cleanUps == [19_600] && outage.end == nil)
    }

    @Test func aRestartThatLeadsNowhereIsFollowedByANewSession() {
        var outage = Outage()
        outage.answer = { _, _ in (.answered, 100) }
        outage.events = [(6_500, .heard)]
        outage.play()
        #expect(outage.kinds == [.iceRestart, .newSession] && outage.times == [3_000, 6_100])
        #expect(outage.cleanUps == [6_500] && outage.end == nil)
    }

    @Test func newSessionsFollowEachOtherUntilOneIsHeard() {
        var outage = Outage()
        outage.answer = { _, attempt in attempt == .iceRestart ? (.gone, 100) : (.answered, 100) }
        outage.events = [(12_000, .heard)]
        outage.play()
        #expect(outage.kinds == [.iceRestart, .newSession, .newSession, .newSession])
        #expect(outage.times == [3_000, 3_100, 7_200, 11_300])
        #expect(outage.cleanUps == [12_000] && outage.end == nil)
    }

    @Test(arguments: [OutageRecovery.AttemptResult.gone, .offerRefused])
    func aHostWithoutTheSessionIsAskedForANewOneAtOnce(refusal: OutageRecovery.AttemptResult) {
        var outage = Outage()
        outage.answer = { _, attempt in attempt == .iceRestart ? (refusal, 100) : (.answered, 100) }
        outage.events = [(3_400, .heard)]
        outage.play()
        #expect(outage.kinds == [.iceRestart, .newSession] && outage.times == [3_000, 3_100])
    }

    @Test func onAnotherAddressARestartIsTriedAgainAtOnce() {
        var outage = Outage()
        outage.answer = { _, _ in (.answered, 100) }
        outage.moves = [4_000, 5_050]
        outage.events = [(5_400, .heard)]
        outage.play()
        #expect(outage.kinds == [.iceRestart, .iceRestart, .iceRestart])
        // Addresses are compared ten times a second.
        #expect(outage.times == [3_000, 4_000, 5_100])
    }

    @Test func addressesAreOfNoInterestAfterAnAttemptWithoutAnswer() {
        var outage = Outage()
        outage.moves = [5_100]
        outage.events = [(6_000, .heard)]
        outage.play()
        #expect(outage.times == [3_000, 5_400])
    }

    // MARK: Each kind of failure

    @Test func threeRefusedConnectionsSayThatTheHostIsGone() {
        var outage = Outage()
        outage.answer = { _, _ in (.connectionRefused, 10) }
        outage.play()
        #expect(outage.times == [3_000, 3_410, 3_820])
        #expect(outage.end?.time == 3_830 && outage.end?.reason == .hostIsGone)
    }

    @Test func aHostThatStartsAgainInBetweenIsNotGone() {
        var outage = Outage()
        outage.answer = { number, _ in (number == 2 ? .failed : .connectionRefused, 10) }
        outage.play()
        #expect(outage.times == [3_000, 3_410, 3_820, 4_230, 4_640, 5_050])
        #expect(outage.end?.time == 5_060 && outage.end?.reason == .hostIsGone)
    }

    /// The broadcast is gone, or its host does not admit this viewer any more: no attempt can succeed.
    @Test(arguments: [OutageRecovery.AttemptResult.gone, .notAdmitted])
    func aRefusedNewSessionIsTheEnd(refusal: OutageRecovery.AttemptResult) {
        var outage = Outage()
        outage.answer = { _, attempt in (attempt == .iceRestart ? .gone : refusal, 100) }
        outage.play()
        #expect(outage.kinds == [.iceRestart, .newSession])
        #expect(outage.end?.time == 3_200 && outage.end?.reason == .refused)
    }

    @Test(arguments: [OutageRecovery.AttemptResult.offerRefused, .failed])
    func aNewSessionThatFailsIsTriedAgain(failure: OutageRecovery.AttemptResult) {
        var outage = Outage()
        outage.answer = { _, attempt in (attempt == .iceRestart ? .gone : failure, 100) }
        outage.events = [(4_000, .heard)]
        outage.play()
        #expect(outage.kinds == [.iceRestart, .newSession, .newSession])
        #expect(outage.times == [3_000, 3_100, 3_600])
    }

    @Test func aRefusedEventStreamEndsASessionThatIsSilentForASecond() {
        let now = MediaInstant(nanoseconds: 5_000_000_000)
        var recovery = OutageRecovery()
        #expect(recovery.handle(.eventStreamRefused(silence: .seconds(1)), now: now).isEmpty)
        #expect(recovery.handle(.eventStreamRefused(silence: .milliseconds(1_001)), now: now) == [.end(.hostIsGone)])
        // During an outage, the silence of the session that replaces the lost one does not matter.
        var outage = Outage()
        outage.events = [(10_000, .eventStreamRefused(silence: .zero))]
        outage.play()
        #expect(outage.end?.time == 10_000 && outage.end?.reason == .hostIsGone)
    }

    @Test func aReplacementWithoutAPairEndsNothingButTheFirstSessionDoes() {
        var outage = Outage()
        outage.events = [(20_000, .noPair), (21_000, .heard)]
        outage.play()
        #expect(outage.end == nil)
        let actions = outage.recovery.handle(.noPair, now: MediaInstant(nanoseconds: 40_000_000_000))
        #expect(actions == [.end(.noPair)])
    }

    // MARK: Heard while an attempt is under way

    @Test func anAttemptOfASessionThatIsHeardAgainIsTheLast() {
        var outage = Outage()
        outage.answer = { _, _ in (.gone, 1_000) }
        outage.events = [(3_500, .heard)]
        outage.play()
        #expect(outage.kinds == [.iceRestart], "a session that is heard is not replaced")
        #expect(outage.cleanUps == [4_000] && outage.end == nil)
    }

    @Test func anotherOutageDuringAnAttemptGoesOnFromThere() {
        var outage = Outage()
        outage.answer = { number, _ in number == 0 ? (.failed, 5_000) : (.answered, 100) }
        let start = MediaInstant(nanoseconds: 5_000_000_000)
        outage.events = [
            (3_500, .heard), (7_000, .interrupted(lastHeard: start + .seconds(4))), (8_700, .heard),
        ]
        outage.play()
        #expect(outage.times == [3_000, 8_400])
        #expect(outage.reports == [.seconds(3), .seconds(3), .seconds(4)])
        #expect(outage.cleanUps == [8_700])
    }

    @Test func theNextOutageBeginsWithARestartAgain() {
        var outage = Outage()
        outage.answer = { number, _ in (number == 0 ? .gone : .answered, 100) }
        let start = MediaInstant(nanoseconds: 5_000_000_000)
        outage.events = [
            (3_500, .heard), (60_000, .interrupted(lastHeard: start + .seconds(57))), (60_200, .heard),
        ]
        outage.play()
        #expect(outage.kinds == [.iceRestart, .newSession, .iceRestart])
        #expect(outage.cleanUps == [3_500, 60_200])
    }
}
