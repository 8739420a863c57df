import MediaCore
import Testing

@testable import MediaEngine

@Suite struct StallDetectorTests {
    private func stalled(at time: Int) -> StallDetector {
        var detector = StallDetector(now: .at(0))
        detector.update(oldestUnanswered: .at(0), roundTrip: .milliseconds(50), now: .at(time))
        return detector
    }

    @Test func silenceOfHalfASecondIsAStall() {
        #expect(!stalled(at: 500).isStalled)
        #expect(stalled(at: 501).isStalled && stalled(at: 501).count == 1)
    }

    @Test func longRoundTripsNeedMoreSilence() {
        var detector = StallDetector(now: .at(0))
        detector.update(oldestUnanswered: .at(0), roundTrip: .milliseconds(400), now: .at(1_200))
        #expect(!detector.isStalled)
        detector.update(oldestUnanswered: .at(0), roundTrip: .milliseconds(400), now: .at(1_201))
        #expect(detector.isStalled)
    }

    @Test func whatWasJustSentIsNoStall() {
        var detector = StallDetector(now: .at(0))
        detector.update(oldestUnanswered: .at(9_900), roundTrip: .milliseconds(50), now: .at(10_000))
        #expect(!detector.isStalled)
        detector.update(oldestUnanswered: nil, roundTrip: .milliseconds(50), now: .at(20_000))
        #expect(!detector.isStalled && detector.count == 0)
    }

    @Test func feedbackEndsTheStallAndOtherMessagesPostponeIt() {
        var detector = stalled(at: 600)
        detector.noteFeedback(now: .at(600))
        #expect(!detector.isStalled)
        detector.noteHeard(now: .at(900))
        detector.update(oldestUnanswered: .at(0), roundTrip: .milliseconds(50), now: .at(1_300))
        #expect(!detector.isStalled)
    }

    @Test func probesAreATenthOfTheEstimateAndThenTenASecond() {
        var detector = stalled(at: 600)
        let isFirst = detector.takeProbe(now: .at(600))
        // 1,250 bytes at 1 Mbit/s take 10 ms.
        detector.noteProbeSent(bytes: 1_250, estimate: .kilobits(10_000), now: .at(600))
        let isAtOnce = detector.takeProbe(now: .at(609))
        #expect(isFirst && !isAtOnce && detector.nextProbe == .at(610))
        let isLater = detector.takeProbe(now: .at(1_600))
        detector.noteProbeSent(bytes: 1_250, estimate: .kilobits(10_000), now: .at(1_600))
        #expect(isLater && detector.nextProbe == .at(1_700))
    }
}
