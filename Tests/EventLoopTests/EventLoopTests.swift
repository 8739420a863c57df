import EventLoop
import LinuxRuntime
import MediaCore
import Synchronization
import TestSupport
import Testing

@Suite struct EventLoopTests {
    /// Work that is queued in one iteration is done in the next one. From the third on they come one interval apart.
    @Test func aModeratedLoopPausesBetweenIterations() async throws {
        let loop = EventLoop(name: "net-0")
        let interval = MediaDuration.milliseconds(20)
        try await loop.run { loop.moderate(interval) }
        let times = await withCheckedContinuation { (continuation: CheckedContinuation<[MediaInstant], Never>) in
            // Retained by the bodies on the loop.
            final class Chain: Sendable {
                let times = Mutex<[MediaInstant]>([])
                func step(_ loop: EventLoop, _ done: @escaping @Sendable ([MediaInstant]) -> Void) {
                    let all = times.withLock { times in
                        times.append(MonotonicClock.now)
                        return times
                    }
                    if all.count == 5 { done(all) } else { loop.perform { [self] in step(loop, done) } }
                }
            }
            let chain = Chain()
            loop.perform { chain.step(loop) { continuation.resume(returning: $0) } }
        }
        // An iteration begins a little before its work.
        #expect(times[4] - times[3] > interval - .milliseconds(5))
        await loop.stop()
    }

    @Test func workRunsInOrderOnTheNamedThread() async throws {
        let loop = EventLoop(name: "net-7")
        let order = Mutex<[Int]>([])
        for number in 0..<1_000 { loop.perform { order.withLock { $0.append(number) } } }
        #expect(try await loop.run { loop.isOnLoop })
        #expect(order.withLock { $0 } == Array(0..<1_000))
        #expect(!loop.isOnLoop)
        await loop.stop()
    }

    @Test func performNeverRunsInline() async throws {
        let loop = EventLoop(name: "net-0")
        let wasInline = try await loop.run {
            let ran = Mutex(false)
            loop.perform { ran.withLock { $0 = true } }
            return ran.withLock { $0 }
        }
        #expect(!wasInline)
        await loop.stop()
    }

    @Test func stoppingRunsWhatWasQueuedAndRefusesTheRest() async {
        let loop = EventLoop(name: "net-0")
        let count = Atomic(0)
        for _ in 0..<100 { loop.perform { count.add(1, ordering: .relaxed) } }
        await loop.stop()
        #expect(count.load(ordering: .relaxed) == 100)
        #expect(!loop.perform { count.add(1, ordering: .relaxed) })
        await loop.stop()
        #expect(count.load(ordering: .relaxed) == 100)
    }

    @Test func stoppingMayBlockInstead() {
        let loop = EventLoop(name: "net-0")
        let count = Atomic(0)
        for _ in 0..<100 { loop.perform { count.add(1, ordering: .relaxed) } }
        loop.stopAndJoin()
        loop.stopAndJoin()
        #expect(count.load(ordering: .relaxed) == 100)
    }

    @Test func manyMayStopItAtOnce() async {
        let loop = EventLoop(name: "net-0")
        let count = Monitor(0)
        for _ in 0..<100 { loop.perform { count.with { $0 += 1 } } }
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    await loop.stop()
                    return count.with { $0 }
                }
            }
            for await seen in group { #expect(seen == 100) }
        }
    }
}
