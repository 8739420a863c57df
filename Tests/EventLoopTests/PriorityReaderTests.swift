import CGLib
import EventLoop
import Glibc
import Synchronization
import TestSupport
import Testing

/// A pair of datagram sockets; a GLib source watches one of them, as libnice does.
private final class WatchedPair {
    private let loop: EventLoop
    let reading: Int32
    let writing: Int32
    private let source: UnsafeMutablePointer<GSource>
    /// Counts how often GLib was told that the socket is readable.
    let seen: Seen

    final class Seen: Sendable {
        let count = Atomic(0)
        let some = Expectation("what GLib sees")
    }

    /// Call it on the loop.
    init(_ loop: EventLoop) throws {
        self.loop = loop
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        (reading, writing) = (ends[0], ends[1])
        seen = Seen()
        source = g_unix_fd_source_new(reading, G_IO_IN)
        let callback: GUnixFDSourceFunc = { descriptor, _, data in
            var byte: UInt8 = 0
            while recv(descriptor, &byte, 1, 0) > 0 {}
            if let data {
                let seen = Unmanaged<Seen>.fromOpaque(data).takeUnretainedValue()
                seen.count.add(1, ordering: .relaxed)
                seen.some.fulfill()
            }
            return 1
        }
        g_source_set_callback(
            source, unsafeBitCast(callback, to: GSourceFunc.self), Unmanaged.passUnretained(seen).toOpaque(), nil)
        g_source_attach(source, loop.context)
    }

    func write(_ byte: UInt8) { withUnsafePointer(to: byte) { _ = send(writing, $0, 1, 0) } }

    /// Reads one datagram; returns nil if there is none.
    func read(_ room: UnsafeMutableRawBufferPointer) -> UInt8? {
        recv(reading, room.baseAddress, room.count, 0) > 0 ? room[0] : nil
    }

    /// Call it on the loop.
    func close() {
        g_source_destroy(source)
        g_source_unref(source)
        Glibc.close(reading)
        Glibc.close(writing)
    }
}

@Suite struct PriorityReaderTests {
    // SAFETY: used on the loop only.
    private final class Stage: @unchecked Sendable {
        let pair: WatchedPair
        var reader: PriorityReader?
        var taken: [UInt8] = []

        init(_ loop: EventLoop) throws { pair = try WatchedPair(loop) }
    }

    @Test func itReadsFirstAndHidesWhatItHasTaken() async throws {
        let loop = EventLoop(name: "net-0")
        let stage = try await loop.run { try Stage(loop) }
        let all = Expectation("three datagrams")
        try await loop.run {
            stage.reader = loop.makePriorityReader(stage.pair.reading) { room in
                while let byte = stage.pair.read(room) { stage.taken.append(byte) }
                if stage.taken.count == 3 { all.fulfill() }
                return true
            }
            for byte in UInt8(1)...3 { stage.pair.write(byte) }
        }
        try await all.wait()
        let (taken, seen) = try await loop.run { (stage.taken, stage.pair.seen.count.load(ordering: .relaxed)) }
        #expect(taken == [1, 2, 3])
        #expect(seen == 0)
        try await loop.run {
            stage.reader?.close()
            stage.reader = nil
            stage.pair.close()
        }
        await loop.stop()
    }

    @Test func whatItLeavesIsForGLib() async throws {
        let loop = EventLoop(name: "net-0")
        let stage = try await loop.run { try Stage(loop) }
        try await loop.run {
            stage.reader = loop.makePriorityReader(stage.pair.reading) { room in
                if let byte = stage.pair.read(room) { stage.taken.append(byte) }
                return false
            }
            for byte in UInt8(1)...3 { stage.pair.write(byte) }
        }
        try await stage.pair.seen.some.wait()
        let taken = try await loop.run { stage.taken }
        #expect(taken == [1])
        try await loop.run {
            stage.reader?.close()
            stage.reader = nil
            stage.pair.close()
        }
        await loop.stop()
    }

    @Test func aClosedOneIsNotCalledAndOneThatFollowedStays() async throws {
        let loop = EventLoop(name: "net-0")
        let stage = try await loop.run { try Stage(loop) }
        let all = Expectation("a datagram for the second")
        try await loop.run {
            let first = loop.makePriorityReader(stage.pair.reading) { _ in
                Issue.record("the first was replaced")
                return true
            }
            stage.reader = loop.makePriorityReader(stage.pair.reading) { room in
                if let byte = stage.pair.read(room) { stage.taken.append(byte) }
                all.fulfill()
                return true
            }
            first.close()
            stage.pair.write(7)
        }
        try await all.wait()
        try await loop.run {
            stage.reader?.close()
            stage.reader?.close()
            stage.reader = nil
            stage.pair.write(8)
        }
        try await stage.pair.seen.some.wait()
        let taken = try await loop.run { stage.taken }
        #expect(taken == [7])
        try await loop.run { stage.pair.close() }
        await loop.stop()
    }

    @Test func itMayCloseItselfWhileItReads() async throws {
        let loop = EventLoop(name: "net-0")
        let stage = try await loop.run { try Stage(loop) }
        try await loop.run {
            stage.reader = loop.makePriorityReader(stage.pair.reading) { room in
                if let byte = stage.pair.read(room) { stage.taken.append(byte) }
                stage.reader?.close()
                stage.reader = nil
                return true
            }
            for byte in UInt8(1)...2 { stage.pair.write(byte) }
        }
        try await stage.pair.seen.some.wait()
        let taken = try await loop.run { stage.taken }
        #expect(taken == [1])
        try await loop.run { stage.pair.close() }
        await loop.stop()
    }
}
