import MediaCore
import PeerEngine
import Testing

@Suite struct ReconnectionPolicyTests {
    @Test func aRestartIsTriedFirstAndANewSessionWhenItLedNowhere() {
        var policy = ReconnectionPolicy()
        #expect(policy.begin() == .attempt(.iceRestart, timeout: .seconds(2)))
        #expect(policy.finish(.iceRestart, .answered) == .wait(.seconds(3), watchesAddresses: true))
        policy.noteNoMedia(addressesChanged: false)
        #expect(policy.begin() == .attempt(.newSession, timeout: .seconds(2)))
        #expect(policy.finish(.newSession, .answered) == .wait(.seconds(4), watchesAddresses: true))
    }

    @Test func fromAnotherAddressARestartIsTriedAgain() {
        var policy = ReconnectionPolicy()
        for _ in 0..<3 {
            #expect(policy.begin() == .attempt(.iceRestart, timeout: .seconds(2)))
            #expect(policy.finish(.iceRestart, .answered) == .wait(.seconds(3), watchesAddresses: true))
            policy.noteNoMedia(addressesChanged: true)
        }
    }

    @Test func aHostWithoutTheSessionIsAskedForANewOneAtOnceAndFromThenOn() {
        var policy = ReconnectionPolicy()
        _ = policy.begin()
        #expect(policy.finish(.iceRestart, .noSuchSession) == .attempt(.newSession, timeout: .seconds(2)))
        #expect(policy.finish(.newSession, .answered) == .wait(.seconds(4), watchesAddresses: true))
        policy.noteNoMedia(addressesChanged: true)
        #expect(policy.begin() == .attempt(.newSession, timeout: .seconds(2)))
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
        let timeout = (0..<6).map { _ in
            defer { _ = policy.finish(.iceRestart, .failed) }
            return policy.begin()
        }
        #expect(timeout.prefix(4).allSatisfy { $0 == .attempt(.iceRestart, timeout: .seconds(2)) })
        #expect(timeout.suffix(2).allSatisfy { $0 == .attempt(.iceRestart, timeout: .seconds(3)) })
    }
}
