import LinuxRuntime
import MediaCore
import Testing

@Suite struct MonitorTests {
    @Test func whoWaitsSeesEachChange() {
        let turn = Monitor(0)
        let other = NamedThread("other") {
            for number in stride(from: 1, to: 2_000, by: 2) {
                turn.wait { $0 == number ? () : nil }
                turn.change { $0 += 1 }
            }
        }
        for number in stride(from: 0, to: 2_000, by: 2) {
            turn.wait { $0 == number ? () : nil }
            turn.change { $0 += 1 }
        }
        other.join()
        #expect(turn.with { $0 } == 2_000)
    }

    @Test func changesOfManyThreadsAreAllCounted() {
        let count = Monitor(0)
        let threads = (0..<4).map { _ in
            NamedThread("counts") { for _ in 0..<10_000 { count.with { $0 += 1 } } }
        }
        for thread in threads { thread.join() }
        #expect(count.with { $0 } == 40_000)
    }

    @Test func aDeadlineEndsTheWait() {
        let value = Monitor(0)
        let deadline = MonotonicClock.now + .milliseconds(10)
        #expect(value.wait(until: deadline) { $0 > 0 ? $0 : nil } == nil)
        #expect(MonotonicClock.now >= deadline)
        #expect(value.wait(until: deadline) { Optional($0) } == 0)
    }

    @Test func theFarthestDeadlineIsNone() {
        let value = Monitor(false)
        let thread = NamedThread("changes") { value.change { $0 = true } }
        #expect(value.wait(until: .distantFuture) { $0 ? 1 : nil } == 1)
        thread.join()
    }
}
