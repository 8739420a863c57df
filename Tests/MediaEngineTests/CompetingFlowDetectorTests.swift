import MediaCore
import Testing

@testable import MediaEngine

@Suite struct CompetingFlowDetectorTests {
    private func run(
        _ competingFlow: inout CompetingFlowDetector, from: Int, seconds: Double, queue: Int, sentBitrate: Int,
        acknowledgedBitrate: Int,
        hasLosses: Bool = true
    ) {
        for step in 0..<Int(seconds * 20) {
            competingFlow.update(
                now: .at(from + step * 50), elapsed: .milliseconds(50), queue: .milliseconds(queue),
                sentBitrate: .kilobits(sentBitrate), acknowledgedBitrate: .kilobits(acknowledgedBitrate),
                hasLosses: hasLosses, isAtMinimum: false)
        }
    }

    @Test func aQueueThatStaysWhenLessIsSentIsACompetingFlows() {
        var competingFlow = CompetingFlowDetector()
        run(&competingFlow, from: 0, seconds: 0.7, queue: 200, sentBitrate: 1_000, acknowledgedBitrate: 1_000)
        #expect(!competingFlow.isActive && competingFlow.bitrateAtQueueStart == .kilobits(1_000))
        // With a third less sent, 200 ms should have drained three times over after two seconds.
        run(&competingFlow, from: 700, seconds: 1.5, queue: 200, sentBitrate: 670, acknowledgedBitrate: 800)
        #expect(!competingFlow.isActive)
        run(&competingFlow, from: 2_200, seconds: 0.7, queue: 200, sentBitrate: 670, acknowledgedBitrate: 800)
        #expect(competingFlow.isActive)
    }

    @Test func aQueueThatDrainsIsOurs() {
        var competingFlow = CompetingFlowDetector()
        run(&competingFlow, from: 0, seconds: 0.7, queue: 300, sentBitrate: 1_000, acknowledgedBitrate: 1_000)
        for step in 0..<8 {
            run(
                &competingFlow, from: 700 + step * 250, seconds: 0.25, queue: 300 - step * 40, sentBitrate: 600,
                acknowledgedBitrate: 1_000)
        }
        run(&competingFlow, from: 3_000, seconds: 2, queue: 10, sentBitrate: 900, acknowledgedBitrate: 900)
        #expect(!competingFlow.isActive && competingFlow.bitrateAtQueueStart == nil)
    }

    @Test func withoutLossesNoCompetingFlowIsDetected() {
        var competingFlow = CompetingFlowDetector()
        run(
            &competingFlow, from: 0, seconds: 4, queue: 200, sentBitrate: 600, acknowledgedBitrate: 1_000,
            hasLosses: false)
        #expect(!competingFlow.isActive)
    }

    @Test func anEmptyQueueEndsTheDetection() {
        var competingFlow = CompetingFlowDetector()
        run(&competingFlow, from: 0, seconds: 0.7, queue: 200, sentBitrate: 1_000, acknowledgedBitrate: 1_000)
        run(&competingFlow, from: 700, seconds: 3, queue: 200, sentBitrate: 600, acknowledgedBitrate: 1_000)
        #expect(competingFlow.isActive)
        run(&competingFlow, from: 5_100, seconds: 2.2, queue: 5, sentBitrate: 600, acknowledgedBitrate: 600)
        #expect(!competingFlow.isActive)
    }
}
