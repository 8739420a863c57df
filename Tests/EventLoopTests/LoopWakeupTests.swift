import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite struct LoopWakeupTests {
    @Test func signalsWakeTheLoopWhichSeesWhatWasWrittenBefore() async throws {
        let loop = EventLoop(name: "net-0")
        let written = Atomic(0)
        let seen = Atomic(0)
        let calls = Atomic(0)
        let all = Expectation("the last number")
        let wakeup = try await loop.run {
            loop.makeWakeup {
                calls.add(1, ordering: .relaxed)
                let number = written.load(ordering: .acquiring)
                seen.store(number, ordering: .relaxed)
                if number == 10_000 { all.fulfill() }
            }
        }
        for number in 1...10_000 {
            written.store(number, ordering: .releasing)
            wakeup.signal()
        }
        try await all.wait()
        #expect((1...10_000).contains(calls.load(ordering: .relaxed)))
        try await loop.run {
            wakeup.close()
            wakeup.close()
        }
        let before = calls.load(ordering: .relaxed)
        wakeup.signal()
        try await loop.run {}
        #expect(calls.load(ordering: .relaxed) == before)
        await loop.stop()
        wakeup.signal()
    }
}
