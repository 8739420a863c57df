import MediaCore
import TestSupport
import Testing

@testable import Host

/// When the keys of a sealed broadcast are changed, in virtual time.
@Suite struct KeyRotationStateTests {
    private struct Stage {
        var state = KeyRotationState()
        var random = SeededGenerator(seed: 1)
        var now = MediaInstant(nanoseconds: 1_000_000_000)
        /// What was done, with the milliseconds since the begin.
        var done: [String] = []

        mutating func handle(_ input: KeyRotationState.Input) { take(state.handle(input, now: now, using: &random)) }

        mutating func wait(_ milliseconds: Int) {
            let end = now + .milliseconds(milliseconds)
            while let deadline = state.deadline, deadline <= end {
                now = deadline
                take(state.advance(now: now, using: &random))
            }
            now = end
        }

        private mutating func take(_ actions: [KeyRotationState.Action]) {
            let time = (now.nanoseconds - 1_000_000_000) / 1_000_000
            for action in actions {
                switch action {
                case .prepare(let number): done.append("prepare \(number) at \(time)")
                case .begin: done.append("begin at \(time)")
                }
            }
        }
    }

    @Test func aRemovalChangesTheKeysAtOnce() {
        var stage = Stage()
        stage.handle(.removed)
        stage.wait(120)
        stage.handle(.delivered(1))
        stage.handle(.delivered(1))
        stage.wait(100_000)
        #expect(stage.done == ["prepare 1 at 0", "begin at 120"] && stage.state.deadline == nil)
    }

    @Test func aRelayThatDoesNotAnswerHoldsNothingUp() {
        var stage = Stage()
        stage.handle(.removed)
        stage.wait(10_000)
        stage.handle(.delivered(1))
        #expect(stage.done == ["prepare 1 at 0", "begin at 500"])
    }

    /// The secret of the first may have reached somebody who was removed since.
    @Test func anotherRemovalMakesAnotherEpoch() {
        var stage = Stage()
        stage.handle(.removed)
        stage.wait(400)
        stage.handle(.removed)
        stage.handle(.delivered(1))
        stage.wait(200)
        #expect(stage.done == ["prepare 1 at 0", "prepare 2 at 400"])
        stage.handle(.delivered(2))
        #expect(stage.done.last == "begin at 600")
    }

    @Test func thoseWhoLeaveAreGathered() {
        var stage = Stage()
        for _ in 0..<1_000 {
            stage.handle(.left)
            stage.wait(29)
        }
        #expect(stage.done.isEmpty)
        stage.wait(1_200)
        // Whoever leaves while the keys are passed on is of the next time.
        stage.handle(.left)
        stage.handle(.delivered(1))
        stage.wait(40_000)
        #expect(stage.done == ["prepare 1 at 30000", "begin at 30200", "prepare 2 at 60200", "begin at 60700"])
    }
}
