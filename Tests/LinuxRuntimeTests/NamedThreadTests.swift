import Foundation
import LinuxRuntime
import MediaCore
import Synchronization
import Testing

@Suite struct NamedThreadTests {
    @Test(arguments: [
        ("decode", "decode"), ("a name that is too long", "a name that is "), ("Bild-über-alles", "Bild-über-alle"),
    ])
    func hasItsName(given: String, shown: String) async {
        let name = Mutex("")
        let thread = NamedThread(given) {
            let text = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
            name.withLock { $0 = text }
        }
        await thread.ended()
        #expect(name.withLock { $0 } == shown + "\n")
    }

    @Test func joinWaitsForItsEnd() {
        let isReleased = Monitor(false)
        let isOver = Atomic(false)
        let thread = NamedThread("waits") {
            isReleased.wait { $0 ? () : nil }
            isOver.store(true, ordering: .releasing)
        }
        let wasOver = isOver.load(ordering: .acquiring)
        #expect(!wasOver)
        isReleased.change { $0 = true }
        thread.join()
        let isNowOver = isOver.load(ordering: .acquiring)
        #expect(isNowOver)
    }

    @Test func manyMayAwaitItsEndBeforeAndAfter() async {
        let isReleased = Monitor(false)
        let thread = NamedThread("waits") { isReleased.wait { $0 ? () : nil } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { await thread.ended() } }
            group.addTask { isReleased.change { $0 = true } }
        }
        await thread.ended()
        let isTold = Atomic(false)
        thread.whenEnded { isTold.store(true, ordering: .relaxed) }
        let wasTold = isTold.load(ordering: .relaxed)
        #expect(wasTold)
        thread.join()
    }

    @Test func whatItHeldIsLetGo() async {
        final class Held: Sendable {}
        weak var held: Held?
        do {
            let object = Held()
            held = object
            await NamedThread("holds") { withExtendedLifetime(object) {} }.ended()
        }
        // The closure is released after the end is announced.
        let deadline = MonotonicClock.now + .seconds(30)
        while held != nil, MonotonicClock.now < deadline { await Task.yield() }
        #expect(held == nil)
    }

    /// A thread that is neither joined nor detached would keep its stack.
    @Test func oneThatNobodyJoinsLeavesNothing() async throws {
        func mapped() throws -> Int {
            let status = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
            return try #require(status.split(separator: " ").first.flatMap { Int($0) }) * 4_096
        }
        for _ in 0..<50 { await NamedThread("brief") {}.ended() }
        let before = try mapped()
        for _ in 0..<500 { await NamedThread("brief") {}.ended() }
        // 500 stacks of 8 MiB would be 4 GiB; concurrent tests map memory, too.
        #expect(try mapped() - before < 2 << 30)
    }
}
