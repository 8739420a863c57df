import MediaCore
import Testing

@testable import MediaEngine

@Suite struct QueueDelayEstimatorTests {
    private func way(_ queue: inout QueueDelayEstimator, sent: Int, takes milliseconds: Int) {
        queue.note(sent: .at(sent), arrival: .at(sent + milliseconds))
        queue.finishBatch()
    }

    @Test func whatIsAboveTheLeastOfHalfAMinuteIsAQueue() {
        var queue = QueueDelayEstimator()
        way(&queue, sent: 0, takes: 50)
        #expect(queue.standing == .zero)
        way(&queue, sent: 20_000, takes: 130)
        #expect(queue.standing == .milliseconds(80))
        // The propagation delay has grown: after half a minute it is the new minimum.
        for second in 21...60 { way(&queue, sent: second * 1_000, takes: 130) }
        #expect(queue.standing == .zero)
    }

    @Test func theLeastOfABatchCounts() {
        var queue = QueueDelayEstimator()
        way(&queue, sent: 0, takes: 50)
        for delay in [190, 60, 170] { queue.note(sent: .at(1_000), arrival: .at(1_000 + delay)) }
        queue.finishBatch()
        #expect(queue.standing == .milliseconds(10))
    }
}

@Suite struct CompetingFlowDetectorTests {
    private func run(
        _ competingFlow: inout CompetingFlowDetector, from: Int, seconds: Double, queue: Int, sending: Int,
        arriving: Int,
        hasLosses: Bool = true
    ) {
        for step in 0..<Int(seconds * 20) {
            competingFlow.update(
                now: .at(from + step * 50), elapsed: .milliseconds(50), queue: .milliseconds(queue),
                sending: .kilobits(sending), arriving: .kilobits(arriving), hasLosses: hasLosses, isAtMinimum: false)
        }
    }

    @Test func aQueueThatStaysThoughLessIsSentIsSomebodyElses() {
        var competingFlow = CompetingFlowDetector()
        run(&competingFlow, from: 0, seconds: 0.7, queue: 200, sending: 1_000, arriving: 1_000)
        #expect(!competingFlow.isActive && competingFlow.passing == .kilobits(1_000))
        // With a third less sent, 200 ms should have drained three times over after two seconds.
        run(&competingFlow, from: 700, seconds: 1.5, queue: 200, sending: 670, arriving: 800)
        #expect(!competingFlow.isActive)
        run(&competingFlow, from: 2_200, seconds: 0.7, queue: 200, sending: 670, arriving: 800)
        #expect(competingFlow.isActive)
    }

    @Test func aQueueThatDrainsIsOurs() {
        var competingFlow = CompetingFlowDetector()
        run(&competingFlow, from: 0, seconds: 0.7, queue: 300, sending: 1_000, arriving: 1_000)
        for step in 0..<8 {
            run(
                &competingFlow, from: 700 + step * 250, seconds: 0.25, queue: 300 - step * 40, sending: 600,
                arriving: 1_000)
        }
        run(&competingFlow, from: 3_000, seconds: 2, queue: 10, sending: 900, arriving: 900)
        #expect(!competingFlow.isActive && competingFlow.passing == nil)
    }

    @Test func withoutLossesNobodyIsBlamed() {
        var competingFlow = CompetingFlowDetector()
        run(&competingFlow, from: 0, seconds: 4, queue: 200, sending: 600, arriving: 1_000, hasLosses: false)
        #expect(!competingFlow.isActive)
    }

    @Test func anEmptyQueueEndsIt() {
        var competingFlow = CompetingFlowDetector()
        run(&competingFlow, from: 0, seconds: 0.7, queue: 200, sending: 1_000, arriving: 1_000)
        run(&competingFlow, from: 700, seconds: 3, queue: 200, sending: 600, arriving: 1_000)
        #expect(competingFlow.isActive)
        run(&competingFlow, from: 5_100, seconds: 2.2, queue: 5, sending: 600, arriving: 600)
        #expect(!competingFlow.isActive)
    }
}

/// `SentPacketHistory`: packets whose feedback was lost.
@Suite struct UnreportedTests {
    @Test(arguments: wrapPoints)
    func whatNoFeedbackSpokeOfIsCountedOnce(first: UInt16) {
        var sent = SentPacketHistory(capacity: 16, first: Int64(first))
        for _ in 0..<10 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        let start = Int64(first)
        _ = sent.take(start, hasArrived: true)
        sent.noteReported(start)
        // Feedback on 1 to 4 was lost.
        expect(sent.takeUnreported(before: start + 5) == 400)
        expect(sent.takeUnreported(before: start + 5) == 0)
        expect(sent.takeUnreported(before: start + 2) == 0)
        expect(sent.recent(now: .at(9_000)) == start..<start + 10)
        expect(sent.recent(now: .at(11_000)).isEmpty)
    }

    @Test func ofWhatIsForgottenNothingIsCounted() {
        var sent = SentPacketHistory(capacity: 16, first: 1)
        for _ in 0..<40 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        expect(sent.takeUnreported(before: 41) == 1_600)
    }
}

@Suite struct LossBasedEstimatorTests {
    private func verdict(_ limit: inout LossBasedEstimator, at milliseconds: Int, lost: Int, isAnswered: Bool)
        -> LossBasedEstimator.Verdict
    {
        limit.note(lost: lost, received: 100 - lost)
        return limit.update(
            now: .at(milliseconds), roundTrip: .milliseconds(50), current: .kilobits(2_000), maximum: .kilobits(8_000),
            least: nil, isOurs: true, hasQueue: true, isAnswered: isAnswered)
    }

    @Test func oneDropIsAnsweredOnce() {
        var limit = LossBasedEstimator()
        expect(verdict(&limit, at: 0, lost: 0, isAnswered: false) == .none)
        expect(verdict(&limit, at: 300, lost: 30, isAnswered: true) == .high)
        #expect(limit.rate == nil)
        expect(verdict(&limit, at: 600, lost: 30, isAnswered: false) == .high)
        #expect(limit.rate == .kilobits(1_700))
    }
}
