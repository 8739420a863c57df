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

    /// Pion's receivers report nothing of a packet that comes alone.
    @Test func emptyFeedbackIsNoSilenceWhileSinglePacketsAreSent() {
        func isStalled(packetsPerMessage: Int64) -> Bool {
            var detector = StallDetector(now: .at(0))
            for message in 0...20 {
                let now = MediaInstant.at(message * 100)
                detector.noteEmptyFeedback(end: Int64(message) * packetsPerMessage, now: now)
                detector.update(oldestUnanswered: .at(0), roundTrip: .milliseconds(50), now: now)
            }
            return detector.isStalled
        }
        #expect(!isStalled(packetsPerMessage: 0) && !isStalled(packetsPerMessage: 1))
        #expect(isStalled(packetsPerMessage: 2))
    }

    /// What follows in the silence after it hides no outage, until feedback on packets comes.
    @Test(arguments: [true, false])
    func packetsThatNobodyReportsAreNotForgotten(isAnswered: Bool) {
        var detector = StallDetector(now: .at(0))
        for message in 0...10 {
            // Thirty packets leave before the third message.
            let now = MediaInstant.at(message * 100)
            if message == 3, isAnswered { detector.noteFeedback(now: now) }
            detector.noteEmptyFeedback(end: message < 2 ? 0 : 30, now: now)
            detector.update(oldestUnanswered: .at(150), roundTrip: .milliseconds(50), now: now)
        }
        #expect(detector.isStalled == !isAnswered)
    }

    @Test(arguments: [true, false])
    func probesAreATenthOfTheEstimateAndThenTenASecond(sendsEmpty: Bool) {
        var detector = stalled(at: 600)
        if sendsEmpty { detector.noteEmptyFeedback(end: 100, now: .at(600)) }
        func probe(at milliseconds: Int) -> Bool {
            guard detector.takeProbe(now: .at(milliseconds)) else { return false }
            // 1,250 bytes at 1 Mbit/s take 10 ms, and two packets of half of that.
            detector.noteProbeSent(
                bytes: sendsEmpty ? 625 : 1_250, estimate: .kilobits(10_000), now: .at(milliseconds))
            return true
        }
        let first = [probe(at: 600), probe(at: 600), probe(at: 600), probe(at: 609)]
        #expect(first == [true, sendsEmpty, false, false] && detector.nextProbe == .at(610))
        let later = [probe(at: 1_600), probe(at: 1_600), probe(at: 1_600)]
        #expect(later == [true, sendsEmpty, false] && detector.nextProbe == .at(1_700))
    }
}
