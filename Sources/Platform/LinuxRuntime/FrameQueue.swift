/// Carries whole frames from one thread to another: a fixed number of buffers that grow to the largest frame and are
/// used again.
///
/// Overflow policy: refuse. The producer is told and decides what follows: skip, or drop to the next key frame.
/// Allocates: only for a frame that is larger than those before it.
// SAFETY: `buffers` is storage that is allocated once and never moves; one element of it is reached only by the side
// that holds its index: free -> producer -> ready -> consumer -> free. Indices change hands in a Monitor, which also
// orders the accesses.
public final class FrameQueue<Info: Sendable>: @unchecked Sendable {
    private struct Frame {
        var buffer: Int
        var length: Int
        var info: Info
    }

    private struct Lists {
        var free: [Int]
        var ready: [Frame] = []
        var isClosed = false
    }

    private let buffers: UnsafeMutableBufferPointer<UnsafeMutableRawBufferPointer>
    private let lists: Monitor<Lists>

    /// - Parameters:
    ///   - capacity: frames, the one that the consumer is reading among them; at least 1.
    ///   - bytes: what a buffer holds at first.
    public init(capacity: Int, bytes: Int) {
        buffers = .allocate(capacity: capacity)
        for index in buffers.indices {
            buffers.initializeElement(at: index, to: .allocate(byteCount: bytes, alignment: 16))
        }
        var empty = Lists(free: Array(0..<capacity))
        empty.ready.reserveCapacity(capacity)
        lists = Monitor(empty)
    }

    deinit {
        for buffer in buffers { buffer.deallocate() }
        buffers.deallocate()
    }

    /// Copies a frame in. From the producer's thread.
    /// - Returns: false if all buffers are in use or the queue is closed.
    public func push(_ bytes: UnsafeRawBufferPointer, _ info: Info) -> Bool {
        push(byteCount: bytes.count, info) { $0.copyMemory(from: bytes) }
    }

    /// Lets a frame be written where it goes. From the producer's thread.
    /// - Parameter write: fills the buffer, of exactly `byteCount` bytes, which is lent for the call; not called if the
    ///   frame is refused.
    /// - Returns: false if all buffers are in use or the queue is closed.
    public func push(byteCount: Int, _ info: Info, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> Bool {
        guard let index = lists.with({ $0.isClosed ? nil : $0.free.popLast() }) else { return false }
        if buffers[index].count < byteCount {
            buffers[index].deallocate()
            buffers[index] = .allocate(byteCount: byteCount + byteCount / 2, alignment: 16)
        }
        write(UnsafeMutableRawBufferPointer(rebasing: buffers[index][..<byteCount]))
        lists.change { $0.ready.append(Frame(buffer: index, length: byteCount, info: info)) }
        return true
    }

    /// Gives out the oldest frame, if there is one. From the consumer's thread.
    /// - Parameter body: the bytes are lent for the call.
    /// - Returns: false if there was none.
    @discardableResult
    public func pop(_ body: (UnsafeRawBufferPointer, Info) -> Void) -> Bool {
        guard let frame = lists.with({ $0.ready.isEmpty ? nil : $0.ready.removeFirst() }) else { return false }
        lend(frame, body)
        return true
    }

    /// Sleeps until there is a frame, and gives it out. From the consumer's thread.
    /// - Parameter body: the bytes are lent for the call.
    /// - Returns: false when the queue was closed; what still waits in it is not given out.
    public func waitAndPop(_ body: (UnsafeRawBufferPointer, Info) -> Void) -> Bool {
        let frame: Frame? = lists.wait { lists in
            if lists.isClosed { return .some(nil) }
            return lists.ready.isEmpty ? nil : .some(lists.ready.removeFirst())
        }
        guard let frame else { return false }
        lend(frame, body)
        return true
    }

    private func lend(_ frame: Frame, _ body: (UnsafeRawBufferPointer, Info) -> Void) {
        body(UnsafeRawBufferPointer(rebasing: buffers[frame.buffer][..<frame.length]), frame.info)
        lists.with { $0.free.append(frame.buffer) }
    }

    /// Of the frame that has waited longest.
    public var oldest: Info? { lists.with { $0.ready.first?.info } }

    /// Wakes the consumer for good.
    public func close() { lists.change { $0.isClosed = true } }
}
