import ICETransport
import MediaCore
import Synchronization
import Testing

@Suite struct NetworkLoopTests {
    @Test func workRunsInOrderOnTheNamedThread() async throws {
        let loop = NetworkLoop(name: "net-7")
        let order = Mutex<[Int]>([])
        for number in 0..<1_000 { loop.perform { order.withLock { $0.append(number) } } }
        #expect(try await loop.run { loop.isOnLoop })
        #expect(order.withLock { $0 } == Array(0..<1_000))
        #expect(!loop.isOnLoop)
        loop.stop()
    }

    @Test func performNeverRunsInline() async throws {
        let loop = NetworkLoop(name: "net-0")
        let wasInline = try await loop.run {
            let ran = Mutex(false)
            loop.perform { ran.withLock { $0 = true } }
            return ran.withLock { $0 }
        }
        #expect(!wasInline)
        loop.stop()
    }

    actor Counter {
        private let loop: NetworkLoop
        private var count = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(loop: NetworkLoop) { self.loop = loop }

        func add() -> Bool {
            count += 1
            return loop.isOnLoop
        }
        var value: Int { count }
        nonisolated func addFromCallback() { assumeIsolated { $0.count += 1 } }
    }

    @Test func anActorLivesOnIt() async throws {
        let loop = NetworkLoop(name: "net-0")
        let counter = Counter(loop: loop)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { await counter.add() } }
            for await isOnLoop in group { #expect(isOnLoop) }
        }
        try await loop.run { counter.addFromCallback() }
        #expect(await counter.value == 101)
        loop.stop()
        // No task hangs because its loop has gone.
        #expect(await counter.add())
        #expect(await counter.value == 102)
    }

    @Test func eachTimerFiresOnceAndNotBeforeItsTime() async throws {
        let loop = NetworkLoop(name: "net-0")
        let done = Expectation("the last timer")
        let left = Atomic(3)
        let fired = Mutex<[(Int, MediaDuration)]>([])
        loop.perform {
            let start = NetworkLoop.now()
            for (number, delay) in [3, 1, 2].enumerated() {
                nonisolated(unsafe) var timer: LoopTimer?
                timer = loop.makeTimer {
                    fired.withLock { $0.append((number, NetworkLoop.now() - start)) }
                    timer?.close()
                    timer?.close()
                    timer = nil
                    if left.subtract(1, ordering: .relaxed).newValue == 0 { done.fulfill() }
                }
                timer?.set(start + .milliseconds(delay))
            }
        }
        try await done.wait(on: loop)
        let result = fired.withLock { $0 }
        // Those that are due together, on a busy machine, come in any order.
        #expect(result.map(\.0).sorted() == [0, 1, 2])
        #expect(result.allSatisfy { $1 >= .milliseconds([3, 1, 2][$0]) })
        loop.stop()
    }

    @Test func aTimerThatIsDisarmedOrClosedStaysSilent() async throws {
        let loop = NetworkLoop(name: "net-0")
        let done = Expectation("the later timer")
        let wrong = Mutex(0)
        loop.perform {
            let now = NetworkLoop.now()
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
                    again?.set(NetworkLoop.now())
                } else {
                    disarmed.close()
                    again?.close()
                    again = nil
                    done.fulfill()
                }
            }
            again?.set(now + .milliseconds(2))
        }
        try await done.wait(on: loop)
        #expect(wrong.withLock { $0 } == 0)
        loop.stop()
    }

    @Test func aDoorbellWakesTheLoopAndSeesWhatWasWrittenBefore() async throws {
        let loop = NetworkLoop(name: "net-0")
        let written = Atomic(0)
        let seen = Atomic(0)
        let rings = Atomic(0)
        let all = Expectation("the last number")
        let doorbell = try await loop.run {
            loop.makeDoorbell {
                rings.add(1, ordering: .relaxed)
                let number = written.load(ordering: .acquiring)
                seen.store(number, ordering: .relaxed)
                if number == 10_000 { all.fulfill() }
            }
        }
        for number in 1...10_000 {
            written.store(number, ordering: .releasing)
            doorbell.ring()
        }
        try await all.wait(on: loop)
        #expect((1...10_000).contains(rings.load(ordering: .relaxed)))
        try await loop.run {
            doorbell.close()
            doorbell.close()
        }
        let before = rings.load(ordering: .relaxed)
        doorbell.ring()
        try await loop.run {}
        #expect(rings.load(ordering: .relaxed) == before)
        loop.stop()
        doorbell.ring()
    }

    @Test func stoppingRunsWhatWasQueuedAndRefusesTheRest() {
        let loop = NetworkLoop(name: "net-0")
        let count = Atomic(0)
        for _ in 0..<100 { loop.perform { count.add(1, ordering: .relaxed) } }
        loop.stop()
        #expect(count.load(ordering: .relaxed) == 100)
        #expect(!loop.perform { count.add(1, ordering: .relaxed) })
        loop.stop()
        #expect(count.load(ordering: .relaxed) == 100)
    }
}
