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
}
