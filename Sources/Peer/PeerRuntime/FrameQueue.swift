import MediaCore

/// Carries whole frames from one thread to another: a fixed number of buffers that grow to the largest frame and are used again.
///
/// Overflow policy: refuse. The producer is told and skips (host) or drops to the next key frame (viewer).
// SAFETY: a buffer is reached only by the side that holds its index: free -> producer -> ready -> consumer -> free; the lists
// of indices are in a Monitor.
final class FrameQueue<Info: Sendable>: @unchecked Sendable {
    private struct Lists {
        var free: [Int]
        var ready: [(index: Int, length: Int, info: Info)]
        var isClosed = false
    }

    private var buffers: [UnsafeMutableRawBufferPointer]
    private let lists: Monitor<Lists>

    /// - Parameter bytes: what a buffer holds at first.
    init(capacity: Int, bytes: Int) {
        buffers = (0..<capacity).map { _ in .allocate(byteCount: bytes, alignment: 16) }
        var empty = Lists(free: Array(0..<capacity), ready: [])
        empty.ready.reserveCapacity(capacity)
        lists = Monitor(empty)
    }

    deinit { for buffer in buffers { buffer.deallocate() } }

    /// Copies a frame in. From the producer's thread.
    /// - Returns: false if all buffers are in use or the queue is closed.
    func push(_ bytes: UnsafeRawBufferPointer, _ info: Info) -> Bool {
        guard let index = lists.with({ $0.isClosed ? nil : $0.free.popLast() }) else { return false }
        if buffers[index].count < bytes.count {
            buffers[index].deallocate()
            buffers[index] = .allocate(byteCount: bytes.count + bytes.count / 2, alignment: 16)
        }
        buffers[index].copyMemory(from: bytes)
        lists.change { $0.ready.append((index, bytes.count, info)) }
        return true
    }

    /// Gives out the oldest frame, if there is one. From the consumer's thread.
    /// - Returns: false if there was none.
    @discardableResult
    func pop(_ body: (UnsafeRawBufferPointer, Info) -> Void) -> Bool {
        guard let item = lists.with({ $0.ready.isEmpty ? nil : $0.ready.removeFirst() }) else { return false }
        take(item, body)
        return true
    }

    /// Sleeps until there is a frame, and gives it out.
    /// - Returns: false when the queue was closed.
    func waitAndPop(_ body: (UnsafeRawBufferPointer, Info) -> Void) -> Bool {
        let item: (index: Int, length: Int, info: Info)? = lists.wait { lists in
            if lists.isClosed { return .some(nil) }
            return lists.ready.isEmpty ? nil : .some(lists.ready.removeFirst())
        }
        guard let item else { return false }
        take(item, body)
        return true
    }

    private func take(
        _ item: (index: Int, length: Int, info: Info), _ body: (UnsafeRawBufferPointer, Info) -> Void
    ) {
        body(UnsafeRawBufferPointer(rebasing: buffers[item.index][..<item.length]), item.info)
        lists.with { $0.free.append(item.index) }
    }

    /// Of the frame that has waited longest.
    var oldest: Info? { lists.with { $0.ready.first?.info } }

    /// Wakes the consumer for good.
    func close() { lists.change { $0.isClosed = true } }
}
