/// Passes whole frames from one thread to another, in a fixed number of reused buffers that grow to the largest frame.
///
/// Overflow policy: refuse. The producer is told and decides what follows: skip, or drop to the next key frame.
/// Allocates: only for a frame that is larger than all before it.
// SAFETY: `frames` is storage that is allocated once and never moves; one element of it is reached only by the side
// that holds its index: free -> producer -> ready -> consumer -> free. Indices change hands in a Monitor, which also
// orders the accesses. `oldest` reads an element while the Monitor holds its index in `ready`.
public final class FrameQueue<Info: Sendable>: @unchecked Sendable {
    private struct Frame {
        var buffer: UnsafeMutableRawBufferPointer
        var length = 0
        /// Nil while it is free.
        var info: Info?
    }

    private let frames: UnsafeMutableBufferPointer<Frame>
    private let lists: Monitor<FrameLists>

    /// - Parameters:
    ///   - capacity: the number of frames, including the one that the consumer is reading; at least 1.
    ///   - bytes: the initial size of a buffer.
    public init(capacity: Int, bytes: Int) {
        frames = .allocate(capacity: capacity)
        for index in frames.indices {
            frames.initializeElement(at: index, to: Frame(buffer: .allocate(byteCount: bytes, alignment: 16)))
        }
        lists = Monitor(FrameLists(capacity: capacity))
    }

    deinit {
        for frame in frames { frame.buffer.deallocate() }
        frames.deinitialize()
        frames.deallocate()
    }

    /// Copies a frame into the queue. Called on the producer's thread.
    /// - Returns: false if all buffers are in use or the queue is closed.
    public func push(_ bytes: UnsafeRawBufferPointer, _ info: Info) -> Bool {
        push(byteCount: bytes.count, info) { $0.copyMemory(from: bytes) }
    }

    /// Has a frame written directly into a buffer of the queue. Called on the producer's thread.
    /// - Parameter write: fills the buffer of exactly `byteCount` bytes, which is lent for the call; not called if the
    ///   frame is refused.
    /// - Returns: false if all buffers are in use or the queue is closed.
    public func push(byteCount: Int, _ info: Info, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> Bool {
        guard let index = lists.with({ $0.takeFree() }) else { return false }
        if frames[index].buffer.count < byteCount {
            frames[index].buffer.deallocate()
            frames[index].buffer = .allocate(byteCount: byteCount + byteCount / 2, alignment: 16)
        }
        write(UnsafeMutableRawBufferPointer(rebasing: frames[index].buffer[..<byteCount]))
        frames[index].length = byteCount
        frames[index].info = info
        lists.change { $0.putReady(index) }
        return true
    }

    /// Passes the oldest frame to `body`, if there is one. Called on the consumer's thread.
    /// - Parameter body: the bytes are lent for the call.
    /// - Returns: false if there was none.
    @discardableResult
    public func pop(_ body: (UnsafeRawBufferPointer, Info) -> Void) -> Bool {
        guard let index = lists.with({ $0.takeReady() }) else { return false }
        lend(index, body)
        return true
    }

    /// Sleeps until there is a frame, and passes it to `body`. Called on the consumer's thread.
    /// - Parameter body: the bytes are lent for the call.
    /// - Returns: false when the queue is closed; frames that still wait are not passed on.
    public func waitAndPop(_ body: (UnsafeRawBufferPointer, Info) -> Void) -> Bool {
        let index = lists.wait { lists -> Int?? in
            if lists.isClosed { return .some(nil) }
            return lists.takeReady().map { .some($0) }
        }
        guard let index else { return false }
        lend(index, body)
        return true
    }

    private func lend(_ index: Int, _ body: (UnsafeRawBufferPointer, Info) -> Void) {
        if let info = frames[index].info {
            body(UnsafeRawBufferPointer(rebasing: frames[index].buffer[..<frames[index].length]), info)
        }
        frames[index].info = nil
        lists.with { $0.putFree(index) }
    }

    /// The information of the frame that has waited longest.
    public var oldest: Info? {
        lists.with { lists in
            guard let index = lists.oldest else { return nil }
            return frames[index].info
        }
    }

    /// Closes the queue and wakes the consumer.
    public func close() { lists.change { $0.isClosed = true } }
}

/// The lists of free and ready frames. Not generic, so that it is compiled specialized: generic code of another module
/// is not.
private struct FrameLists {
    private var free: [Int]
    /// A ring of the indices of ready frames, the oldest at `first`.
    private var ready: [Int]
    private var first = 0
    private var count = 0
    var isClosed = false

    init(capacity: Int) {
        free = Array(0..<capacity)
        ready = Array(repeating: 0, count: capacity)
    }

    var oldest: Int? { count == 0 ? nil : ready[first] }

    /// Returns nil if all frames are in use or the queue is closed.
    mutating func takeFree() -> Int? { isClosed ? nil : free.popLast() }

    mutating func putFree(_ index: Int) { free.append(index) }

    mutating func takeReady() -> Int? {
        guard let index = oldest else { return nil }
        first = (first + 1) % ready.count
        count -= 1
        return index
    }

    mutating func putReady(_ index: Int) {
        ready[(first + count) % ready.count] = index
        count += 1
    }
}
