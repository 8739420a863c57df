import Synchronization
import Testing

@testable import HTTP

@Suite struct CoalescedActionTests {
    /// An action that waits until it is let go, and counts its runs.
    private final class Gate: Sendable {
        private let runs = Mutex(0)
        private let begun = AsyncStream.makeStream(of: Void.self)
        private let letGo = AsyncStream.makeStream(of: Void.self)

        var count: Int { runs.withLock { $0 } }

        func run() async {
            runs.withLock { $0 += 1 }
            begun.continuation.yield()
            for await _ in letGo.stream { break }
        }

        func hasBegun() async { for await _ in begun.stream { break } }
        func open() { letGo.continuation.yield() }
    }

    @Test func requestsDuringARunAreOneFurtherRun() async {
        let gate = Gate()
        let action = CoalescedAction { await gate.run() }
        let first = Task { await action.run() }
        await gate.hasBegun()
        for _ in 1...5 { action.request() }
        // Another caller does not wait.
        await action.run()
        #expect(gate.count == 1)
        gate.open()
        await gate.hasBegun()
        #expect(gate.count == 2)
        gate.open()
        await first.value
        #expect(gate.count == 2)
        // The next request is a new run.
        let second = Task { await action.run() }
        await gate.hasBegun()
        gate.open()
        await second.value
        #expect(gate.count == 3)
    }

    @Test func nothingRunsAfterTheStop() async {
        let gate = Gate()
        let action = CoalescedAction { await gate.run() }
        let run = Task { await action.run() }
        await gate.hasBegun()
        action.request()
        action.stop()
        gate.open()
        await run.value
        await action.run()
        #expect(gate.count == 1)
    }
}
