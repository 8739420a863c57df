import MediaCore
import Testing

@testable import MediaEngine

@Suite struct QueueDelayEstimatorTests {
    private func oneWayDelay(_ queue: inout QueueDelayEstimator, sent: Int, takes milliseconds: Int) {
        queue.note(sent: .at(sent), arrival: .at(sent + milliseconds))
        queue.finishBatch()
    }

    @Test func delayAboveTheMinimumOfHalfAMinuteIsQueueDelay() {
        var queue = QueueDelayEstimator()
        oneWayDelay(&queue, sent: 0, takes: 50)
        #expect(queue.standing == .zero)
        oneWayDelay(&queue, sent: 20_000, takes: 130)
        #expect(queue.standing == .milliseconds(80))
        // The propagation delay has grown: after half a minute it is the new minimum.
        for second in 21...60 { oneWayDelay(&queue, sent: second * 1_000, takes: 130) }
        #expect(queue.standing == .zero)
    }

    @Test func theMinimumOfABatchCounts() {
        var queue = QueueDelayEstimator()
        oneWayDelay(&queue, sent: 0, takes: 50)
        for delay in [190, 60, 170] { queue.note(sent: .at(1_000), arrival: .at(1_000 + delay)) }
        queue.finishBatch()
        #expect(queue.standing == .milliseconds(10))
    }
}
