import MediaCore
import Testing

@testable import MediaEngine

@Suite struct PathNarrowingTests {
    private static let start = MediaInstant(nanoseconds: 1_000_000_000_000)

    private func at(_ seconds: Double) -> MediaInstant { Self.start + .microseconds(Int(seconds * 1e6)) }

    /// A drop to 0.6 Mbit/s at 0 s.
    private func narrowed(acknowledged: Int = 590, queue: MediaDuration = .milliseconds(100)) -> PathNarrowing {
        var narrowing = PathNarrowing()
        narrowing.note(saturated: .kilobits(560), queueDelay: queue, now: at(-0.2))
        narrowing.note(saturated: .kilobits(600), queueDelay: queue, now: at(-0.1))
        narrowing.noteDecrease(
            from: .kilobits(2_500), to: .kilobits(450), acknowledged: .kilobits(acknowledged), now: at(0))
        return narrowing
    }

    private func isWider(_ narrowing: inout PathNarrowing, _ kilobits: Int, at seconds: Double) -> Bool {
        narrowing.note(.kilobits(kilobits), latest: .kilobits(kilobits), now: at(seconds))
    }

    @Test func fasterTrainsShowThatThePathIsWideAgain() {
        var narrowing = narrowed()
        #expect(!isWider(&narrowing, 880, at: 1))
        #expect(isWider(&narrowing, 920, at: 1))
        #expect(isWider(&narrowing, 920, at: 119))
        #expect(!isWider(&narrowing, 920, at: 121))
    }

    /// The rate of a flow with others beside it is not the path's capacity.
    @Test func withoutItsOwnQueueNothingIsKnown() {
        for (acknowledged, queue) in [(440, 100), (590, 20)] {
            var narrowing = narrowed(acknowledged: acknowledged, queue: .milliseconds(queue))
            #expect(!isWider(&narrowing, 3_000, at: 1))
            #expect(narrowing.probePause(at: .kilobits(450), now: at(1)) == .seconds(5))
        }
    }

    /// The first train of a drop was sent in part before it. The rate falls below three quarters of it.
    @Test func aDropThatGoesOnIsNotForgotten() {
        var narrowing = PathNarrowing()
        narrowing.note(saturated: .kilobits(1_000), queueDelay: .milliseconds(100), now: at(-0.1))
        narrowing.noteDecrease(from: .kilobits(2_400), to: .kilobits(1_500), acknowledged: .kilobits(1_750), now: at(0))
        narrowing.noteDecrease(from: .kilobits(1_500), to: .kilobits(400), acknowledged: .kilobits(570), now: at(0.4))
        narrowing.noteDecrease(from: .kilobits(400), to: .kilobits(390), acknowledged: .kilobits(560), now: at(0.9))
        #expect(narrowing.probePause(at: .kilobits(450), now: at(2)) < .seconds(2))
        #expect(!isWider(&narrowing, 1_400, at: 4))
        #expect(isWider(&narrowing, 2_700, at: 5))
    }

    @Test func aSmallDecreaseIsNoDrop() {
        var narrowing = PathNarrowing()
        narrowing.note(saturated: .kilobits(600), queueDelay: .milliseconds(100), now: at(-0.1))
        narrowing.noteDecrease(from: .kilobits(600), to: .kilobits(500), acknowledged: .kilobits(590), now: at(0))
        #expect(!isWider(&narrowing, 3_000, at: 1))
    }

    /// Trains in the same queue that are faster show that it competes with another flow.
    @Test func aFasterTrainOfTheSameQueueRaisesTheCapacity() {
        var narrowing = narrowed()
        narrowing.note(saturated: .kilobits(1_200), queueDelay: .milliseconds(60), now: at(0.3))
        #expect(!isWider(&narrowing, 1_700, at: 1))
        #expect(isWider(&narrowing, 1_900, at: 1))
    }

    /// As behind a token bucket, which lets trains through that it does not carry for long.
    @Test func anIncreaseThatIsFollowedByADropIsNotRepeatedSoon() {
        var narrowing = narrowed()
        var pauses: [Double] = []
        var now = 0.0
        for _ in 0..<3 {
            narrowing.noteIncrease(now: at(now + 0.5))
            now += 1
            narrowing.note(saturated: .kilobits(600), queueDelay: .milliseconds(100), now: at(now))
            narrowing.noteDecrease(from: .kilobits(900), to: .kilobits(450), acknowledged: .kilobits(590), now: at(now))
            let dropped = now
            // Each further drop would count, too.
            while !isWider(&narrowing, 3_000, at: now) {
                now += 1
                guard now < 200 else { break }
                narrowing.note(saturated: .kilobits(600), queueDelay: .milliseconds(100), now: at(now))
                narrowing.noteDecrease(
                    from: .kilobits(900), to: .kilobits(450), acknowledged: .kilobits(590), now: at(now))
            }
            pauses.append(now - dropped)
        }
        #expect(pauses == [8, 16, 32])
    }

    /// Whatever a receiver reports, few probes follow each other at once.
    @Test func aTrainThatPromisesMoreIsFollowedByAProbeSoon() {
        var narrowing = narrowed()
        for _ in 0..<4 {
            #expect(isWider(&narrowing, 920, at: 1))
            #expect(narrowing.probePause(at: .kilobits(450), now: at(1)) == .milliseconds(150))
            #expect(narrowing.probePause(at: .kilobits(800), now: at(1)) == .seconds(1))
        }
        #expect(isWider(&narrowing, 920, at: 1))
        #expect(narrowing.probePause(at: .kilobits(450), now: at(1)) > .seconds(1))
        narrowing.noteIncrease(now: at(1))
        #expect(isWider(&narrowing, 1_800, at: 1))
        #expect(narrowing.probePause(at: .kilobits(900), now: at(1)) == .milliseconds(150))
    }

    @Test func probesTakeATenthOfTheRate() {
        let narrowing = narrowed()
        #expect(narrowing.probePause(at: .kilobits(2_000), now: at(1)) == .seconds(1))
        #expect(narrowing.probePause(at: .kilobits(200), now: at(1)) == .milliseconds(2_400))
        #expect(narrowing.probePause(at: .kilobits(50), now: at(1)) == .seconds(5))
        #expect(narrowing.probePause(at: .kilobits(2_000), now: at(11)) == .seconds(5))
    }
}
