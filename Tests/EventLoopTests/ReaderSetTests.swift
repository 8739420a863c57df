import EventLoop
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ReaderSetTests {
    /// Pairs of datagram sockets.
    // SAFETY: used on the loop only.
    private final class Stage: @unchecked Sendable {
        private(set) var pairs: [(reading: Int32, writing: Int32)] = []
        var calls: [Int]

        init(_ count: Int) throws {
            calls = Array(repeating: 0, count: count)
            for _ in 0..<count {
                var ends: [Int32] = [-1, -1]
                try #require(
                    socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
                pairs.append((ends[0], ends[1]))
            }
        }

        func write(_ index: Int) {
            var byte: UInt8 = 1
            _ = send(pairs[index].writing, &byte, 1, 0)
        }

        /// Reads one datagram.
        /// - Returns: false if there was none.
        func read(_ index: Int) -> Bool {
            var byte: UInt8 = 0
            calls[index] += 1
            return recv(pairs[index].reading, &byte, 1, 0) == 1
        }

        func close(_ set: ReaderSet) {
            for pair in pairs {
                set.remove(pair.reading)
                Glibc.close(pair.reading)
                Glibc.close(pair.writing)
            }
        }
    }

    /// One system call returns fewer of them.
    @Test func allOfManyAreRead() async throws {
        let loop = EventLoop(name: "net-0")
        let count = 150
        let stage = try await loop.run { try Stage(count) }
        let all = Expectation("a datagram of each")
        try await loop.run {
            for index in 0..<count {
                #expect(
                    loop.readerSet.add(stage.pairs[index].reading) {
                        _ = stage.read(index)
                        if stage.calls.allSatisfy({ $0 > 0 }) { all.fulfill() }
                        return true
                    })
                stage.write(index)
            }
        }
        try await all.wait()
        try await loop.run {
            #expect(stage.calls.allSatisfy { $0 == 1 }, "one that has nothing to read is not called")
            stage.close(loop.readerSet)
        }
        await loop.stop()
    }

    @Test func oneThatLeavesSomethingIsCalledAgain() async throws {
        let loop = EventLoop(name: "net-0")
        let stage = try await loop.run { try Stage(1) }
        let all = Expectation("three datagrams")
        try await loop.run {
            #expect(
                loop.readerSet.add(stage.pairs[0].reading) {
                    _ = stage.read(0)
                    if stage.calls[0] == 3 { all.fulfill() }
                    return false
                })
            for _ in 0..<3 { stage.write(0) }
        }
        try await all.wait()
        try await loop.run { stage.close(loop.readerSet) }
        await loop.stop()
    }

    /// Both are readable in the same iteration, and the first one that is called removes both.
    @Test func aRemovedOneIsNotCalledAndTheSetMayBeUsedAgain() async throws {
        let loop = EventLoop(name: "net-0")
        let stage = try await loop.run { try Stage(3) }
        let first = Expectation("one of two")
        try await loop.run {
            for index in 0..<2 {
                #expect(
                    loop.readerSet.add(stage.pairs[index].reading) {
                        _ = stage.read(index)
                        for pair in stage.pairs { loop.readerSet.remove(pair.reading) }
                        first.fulfill()
                        return true
                    })
                stage.write(index)
            }
        }
        try await first.wait()
        let again = Expectation("another one")
        try await loop.run {
            #expect(stage.calls[0] + stage.calls[1] == 1)
            #expect(
                loop.readerSet.add(stage.pairs[2].reading) {
                    _ = stage.read(2)
                    again.fulfill()
                    return true
                })
            stage.write(2)
        }
        try await again.wait()
        try await loop.run {
            #expect(stage.calls[0] + stage.calls[1] == 1)
            stage.close(loop.readerSet)
        }
        await loop.stop()
    }

    @Test func aLoopWhoseSetIsEmptyIsFreed() async throws {
        weak var freed: EventLoop?
        do {
            let loop = EventLoop(name: "net-0")
            freed = loop
            let stage = try await loop.run { try Stage(2) }
            try await loop.run {
                for pair in stage.pairs { #expect(loop.readerSet.add(pair.reading) { true }) }
                #expect(!loop.readerSet.add(-1) { true })
                stage.close(loop.readerSet)
            }
            await loop.stop()
        }
        // The thread's body holds the loop until it returns.
        for _ in 0..<200 where freed != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(freed == nil)
    }
}
