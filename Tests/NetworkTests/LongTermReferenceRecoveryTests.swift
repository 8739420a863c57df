import NetworkBed
import TestSupport
import Testing

/// Recovery from a frame that the viewer has acknowledged, with the real programs.
@Suite(.serialized, .timeLimit(.minutes(2))) struct LongTermReferenceRecoveryTests {
    private static let good = LinkConditions(delayMilliseconds: 25)
    private static let down = LinkConditions(delayMilliseconds: 25, isDown: true)
    private static let rounds = 4

    /// Each round loses a burst, lets one or two frames through, so that the viewer detects the loss, and loses the
    /// retransmissions, too.
    @Test func lossesBeyondRetransmissionAreReplacedWithoutAKeyFrame() throws {
        let pair = try LinkedPair(Self.good)
        let host = try pair.host()
        let viewer = try pair.join()
        try viewer.event("first-picture", seconds: 15)
        try viewer.reports(2)
        let before = try host.reports(1)
        let first = try #require(try viewer.reports(1).number("frames"))
        for round in 0..<Self.rounds {
            var time = Double(round) * 2_500
            for (isDown, milliseconds) in [(true, 300.0), (false, 40), (true, 400), (false, 0)] {
                try pair.link.set(isDown ? Self.down : Self.good, .forward, afterMilliseconds: time)
                time += milliseconds
            }
        }
        let statistics = try viewer.reports(11)
        let after = try host.reports(1)
        // One key frame may be for a viewer whose machine was suspended.
        #expect(try #require(after.number("keyframes")) - #require(before.number("keyframes")) <= 1)
        // A busy machine may let no frame through in between, and then retransmissions are enough.
        #expect(try #require(after.number("recoveries")) >= 2)
        #expect(try #require(statistics.number("recoveries")) >= 2)
        #expect(statistics.number("corrupt") == 0)
        // 11 s of 30 frames each, less some 0.9 s in each round.
        #expect(try #require(statistics.number("frames")) - first > 130)
        #expect(try pair.link.figures(.forward).lost > 50)
    }
}
