import MediaCore
import PeerEngine
import Testing

@Suite struct MediaLivenessTests {
    private let start = MediaInstant(nanoseconds: 5_000_000_000)

    @Test func silenceInterruptsOnceAndExpiresOnceAfterThirtySeconds() {
        var liveness = MediaLiveness(interruptionThreshold: .seconds(4), now: start)
        #expect(liveness.check(start + .milliseconds(3_999)) == nil)
        #expect(liveness.check(start + .seconds(4)) == .interrupted)
        #expect(liveness.check(start + .seconds(5)) == nil)
        #expect(liveness.isInterrupted)
        #expect(liveness.check(start + .milliseconds(29_999)) == nil)
        #expect(liveness.check(start + .seconds(30)) == .expired)
        #expect(liveness.check(start + .seconds(31)) == nil)
        // Packets after the end do not revive the session.
        #expect(liveness.heard(start + .seconds(31)) == nil)
    }

    @Test func onePacketResumesAndTheThirtySecondsBeginAnew() {
        var liveness = MediaLiveness(interruptionThreshold: .seconds(4), now: start)
        #expect(liveness.heard(start + .seconds(1)) == nil)
        #expect(liveness.check(start + .milliseconds(4_900)) == nil)
        #expect(liveness.check(start + .seconds(29)) == .interrupted)
        #expect(liveness.heard(start + .seconds(30)) == .seconds(29))
        #expect(!liveness.isInterrupted)
        #expect(liveness.heard(start + .seconds(30)) == nil)
        #expect(liveness.check(start + .seconds(34)) == .interrupted)
        #expect(liveness.check(start + .seconds(60)) == .expired)
    }

    @Test func aLostAddressNeedsNoPatience() {
        var liveness = MediaLiveness(interruptionThreshold: .seconds(4), now: start)
        #expect(liveness.check(start + .seconds(2), isPathGone: true) == .interrupted)
    }
}
