import MediaCore
import PeerEngine
import Testing

@Suite struct ReconnectionPolicyTests {
    @Test func aRestartIsTriedFirstAndANewSessionWhenItLedNowhere() {
        var policy = ReconnectionPolicy()
        #expect(policy.begin() == .attempt(.iceRestart, patience: .seconds(2)))
        #expect(policy.finish(.iceRestart, .answered) == .wait(.seconds(3), watchesAddresses: true))
        policy.noteNoMedia(addressesChanged: false)
        #expect(policy.begin() == .attempt(.newSession, patience: .seconds(2)))
        #expect(policy.finish(.newSession, .answered) == .wait(.seconds(4), watchesAddresses: true))
    }

    @Test func fromAnotherAddressARestartIsTriedAgain() {
        var policy = ReconnectionPolicy()
        for _ in 0..<3 {
            #expect(policy.begin() == .attempt(.iceRestart, patience: .seconds(2)))
            #expect(policy.finish(.iceRestart, .answered) == .wait(.seconds(3), watchesAddresses: true))
            policy.noteNoMedia(addressesChanged: true)
        }
    }

    @Test func aHostWithoutTheSessionIsAskedForANewOneAtOnceAndFromThenOn() {
        var policy = ReconnectionPolicy()
        _ = policy.begin()
        #expect(policy.finish(.iceRestart, .noSuchSession) == .attempt(.newSession, patience: .seconds(2)))
        #expect(policy.finish(.newSession, .answered) == .wait(.seconds(4), watchesAddresses: true))
        policy.noteNoMedia(addressesChanged: true)
        #expect(policy.begin() == .attempt(.newSession, patience: .seconds(2)))
    }

    @Test func threeRefusalsInARowEndTheOutage() {
        var policy = ReconnectionPolicy()
        let pause = ReconnectionPolicy.Step.wait(.milliseconds(400), watchesAddresses: false)
        for outcome in [.refused, .refused, .failed, .refused, .refused] as [ReconnectionPolicy.Outcome] {
            _ = policy.begin()
            #expect(policy.finish(.iceRestart, outcome) == pause)
        }
        _ = policy.begin()
        #expect(policy.finish(.iceRestart, .refused) == .hostIsGone)
    }

    @Test func laterAttemptsAreMorePatient() {
        var policy = ReconnectionPolicy()
        let patience = (0..<6).map { _ in
            defer { _ = policy.finish(.iceRestart, .failed) }
            return policy.begin()
        }
        #expect(patience.prefix(4).allSatisfy { $0 == .attempt(.iceRestart, patience: .seconds(2)) })
        #expect(patience.suffix(2).allSatisfy { $0 == .attempt(.iceRestart, patience: .seconds(3)) })
    }
}

@Suite struct EventStreamBackoffTests {
    @Test func pausesGrowToTwoSecondsAndBeginAnew() {
        var backoff = EventStreamBackoff()
        #expect(backoff.patience == nil)
        var pauses: [MediaDuration] = []
        for _ in 0..<5 {
            let hostIsGone = backoff.noteFailure(isRefusal: false)
            #expect(!hostIsGone)
            pauses.append(backoff.pause)
        }
        #expect(pauses == [400, 800, 1_600, 2_000, 2_000].map { MediaDuration.milliseconds($0) })
        #expect(backoff.patience == .seconds(2))
        backoff.noteOpen()
        #expect(backoff.patience == nil && backoff.pause == .milliseconds(200))
    }

    @Test func threeRefusalsInARowSayThatTheHostIsGone() {
        var backoff = EventStreamBackoff()
        let verdicts = [true, true, false, true, true, true].map { backoff.noteFailure(isRefusal: $0) }
        #expect(verdicts == [false, false, false, false, false, true])
        #expect(backoff.pause == .milliseconds(400))
    }
}
