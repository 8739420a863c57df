import MediaCore
import PeerEngine
import Testing

@Suite struct ConsentFreshnessTests {
    private let start = MediaInstant(nanoseconds: 5_000_000_000)

    @Test func silenceInterruptsOnceAndExpiresOnceAfterThirtySeconds() {
        var consent = ConsentFreshness(patience: .seconds(4), now: start)
        #expect(consent.check(start + .milliseconds(3_999)) == nil)
        #expect(consent.check(start + .seconds(4)) == .interrupted)
        #expect(consent.check(start + .seconds(5)) == nil)
        #expect(consent.isInterrupted)
        #expect(consent.check(start + .milliseconds(29_999)) == nil)
        #expect(consent.check(start + .seconds(30)) == .expired)
        #expect(consent.check(start + .seconds(31)) == nil)
        // What comes after the end does not bring it back.
        #expect(consent.heard(start + .seconds(31)) == nil)
    }

    @Test func onePacketResumesAndTheThirtySecondsBeginAnew() {
        var consent = ConsentFreshness(patience: .seconds(4), now: start)
        #expect(consent.heard(start + .seconds(1)) == nil)
        #expect(consent.check(start + .milliseconds(4_900)) == nil)
        #expect(consent.check(start + .seconds(29)) == .interrupted)
        #expect(consent.heard(start + .seconds(30)) == .seconds(29))
        #expect(!consent.isInterrupted)
        #expect(consent.heard(start + .seconds(30)) == nil)
        #expect(consent.check(start + .seconds(34)) == .interrupted)
        #expect(consent.check(start + .seconds(60)) == .expired)
    }

    @Test func aLostAddressNeedsNoPatience() {
        var consent = ConsentFreshness(patience: .seconds(4), now: start)
        #expect(consent.check(start + .seconds(2), isPathGone: true) == .interrupted)
    }
}
