import EventLoop
import LinuxRuntime
import MediaCore
import Synchronization
import TestSupport
import Testing

@Suite struct LoopTimerTests {
    @Test func eachTimerFiresOnceAndNotBeforeItsTime() async throws {
        let loop = EventLoop(name: "net-0")
        let done = Expectation("the last timer")
        let left = Atomic(3)
        let fired = Mutex<[(Int, MediaDuration)]>([])
        loop.perform {
            let start = MonotonicClock.now
            for (number, delay) in [3, 1, 2].enumerated() {
                nonisolated(unsafe) var timer: LoopTimer?
                timer = loop.makeTimer {
                    fired.withLock { $0.append((number, MonotonicClock.now - start)) }
                    timer?.close()
                    timer?.close()
                    timer = nil
                    if left.subtract(1, ordering: .relaxed).newValue == 0 { done.fulfill() }
                }
                timer?.set(start + .milliseconds(delay))
            }
        }
        try await done.wait()
        let result = fired.withLock { $0 }
        // Timers that are due together, on a busy machine, fire in any order.
        #expect(result.map(\.0).sorted() == [0, 1, 2])
        #expect(result.allSatisfy { $1 >= .milliseconds([3, 1, 2][$0]) })
        await loop.stop()
    }

    @Test func aTimerThatIsDisarmedOrClosedStaysSilent() async throws {
        let loop = EventLoop(name: "net-0")
        let done = Expectation("the later timer")
        let wrong = Mutex(0)
        loop.perform {
            let now = MonotonicClock.now
            let disarmed = loop.makeTimer { wrong.withLock { $0 += 1 } }
            disarmed.set(now)
            disarmed.set(nil)
            let closed = loop.makeTimer { wrong.withLock { $0 += 1 } }
            closed.set(now)
            closed.close()
            closed.set(now)
            nonisolated(unsafe) var rounds = 0
            nonisolated(unsafe) var again: LoopTimer?
            again = loop.makeTimer {
                rounds += 1
                if rounds < 5 {
                    again?.set(MonotonicClock.now)
                } else {
                    disarmed.close()
                    again?.close()
                    again = nil
                    done.fulfill()
                }
            }
            again?.set(now + .milliseconds(2))
        }
        try await done.wait()
        #expect(wrong.withLock { $0 } == 0)
        await loop.stop()
    }

    /// Coarse timers wait for an iteration that has another reason, and set none of their own before `coarseDelay`.
    @Test func coarseTimersFireTogetherWithOthers() async throws {
        let loop = EventLoop(name: "net-0")
        let done = Expectation("the last timer")
        let fired = Mutex<[(isCoarse: Bool, after: MediaDuration)]>([])
        loop.perform {
            let start = MonotonicClock.now
            nonisolated(unsafe) var timers: [LoopTimer] = []
            func arm(_ milliseconds: Int, isCoarse: Bool) {
                let timer = loop.makeTimer {
                    let count = fired.withLock { fired in
                        fired.append((isCoarse, MonotonicClock.now - start))
                        return fired.count
                    }
                    guard count == 22 else { return }
                    for timer in timers { timer.close() }
                    timers = []
                    done.fulfill()
                }
                timer.set(start + .milliseconds(milliseconds), isCoarse: isCoarse)
                timers.append(timer)
            }
            // So late that the loop waits for them even if its thread was interrupted.
            for number in 201...220 { arm(number, isCoarse: true) }
            arm(230, isCoarse: false)
            arm(330, isCoarse: true)
            // One that is moved from the exact timers to the coarse ones.
            timers[0].set(start + .milliseconds(201))
            timers[0].set(start + .milliseconds(201), isCoarse: true)
        }
        try await done.wait()
        let result = fired.withLock { $0 }
        #expect(result.first?.isCoarse == false && result.allSatisfy { $0.after >= .milliseconds(230) })
        // The last one has nothing to wait for.
        #expect(try #require(result.last).after >= .milliseconds(330) + LoopTimer.coarseDelay)
        await loop.stop()
    }

    /// Timers fire in the order of their deadlines, however often they were moved before.
    @Test func manyTimersFireInOrder() async throws {
        let loop = EventLoop(name: "net-0")
        let done = Expectation("the last timer")
        let fired = Mutex<[Int]>([])
        let expected = Mutex<[Int]>([])
        loop.perform {
            var generator = SeededGenerator(seed: 11)
            let start = MonotonicClock.now
            nonisolated(unsafe) var timers: [LoopTimer] = []
            var deadlines: [Int?] = []
            for number in 0..<500 {
                timers.append(loop.makeTimer { fired.withLock { $0.append(number) } })
                deadlines.append(nil)
            }
            for _ in 0..<3_000 {
                let number = Int.random(in: 0..<500, using: &generator)
                // Each is another instant.
                let deadline = Int.random(in: 0..<40_000, using: &generator) * 500 + number
                deadlines[number] = Bool.random(using: &generator) ? deadline : nil
                timers[number].set(
                    deadlines[number].map { start + MediaDuration(nanoseconds: 10_000_000 + Int64($0)) })
            }
            for number in stride(from: 0, to: 500, by: 7) {
                timers[number].close()
                deadlines[number] = nil
            }
            expected.withLock {
                $0 = deadlines.indices.filter { deadlines[$0] != nil }.sorted {
                    (deadlines[$0] ?? 0) < (deadlines[$1] ?? 0)
                }
            }
            timers.append(
                loop.makeTimer {
                    for timer in timers { timer.close() }
                    done.fulfill()
                })
            timers[500].set(start + .milliseconds(40))
        }
        try await done.wait()
        #expect(fired.withLock { $0 } == expected.withLock { $0 })
        #expect(expected.withLock { $0.count } > 100)
        await loop.stop()
    }

    /// A timer that sets itself to the past does not keep the others from firing.
    @Test func aTimerOfThePastLeavesRoomForOthers() async throws {
        let loop = EventLoop(name: "net-0")
        let done = Expectation("the other timer")
        loop.perform {
            nonisolated(unsafe) var greedy: LoopTimer?
            greedy = loop.makeTimer { greedy?.set(MediaInstant(nanoseconds: 1)) }
            greedy?.set(MediaInstant(nanoseconds: 1))
            nonisolated(unsafe) var other: LoopTimer?
            other = loop.makeTimer {
                greedy?.close()
                other?.close()
                (greedy, other) = (nil, nil)
                done.fulfill()
            }
            other?.set(MonotonicClock.now + .milliseconds(5))
        }
        try await done.wait()
        await loop.stop()
    }
}
