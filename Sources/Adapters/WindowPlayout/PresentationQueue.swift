import MediaCore

/// Copies of frames that are to be presented later (lip-sync), in order.
///
/// Overflow policy: the caller removes the oldest frame before it appends to a full queue. Buffers are reused until
/// `releaseBuffers`.
struct PresentationQueue {
    private struct Entry {
        var time: MediaInstant
        var buffer: I420Buffer
    }

    /// The longest delay of lip-sync is 400 ms, which is 24 frames at 60 frames/s.
    static let capacity = 32
    /// 21 frames of 1920 x 1080.
    static let byteLimit = 64 << 20

    private var entries: [Entry] = []
    private var waitingBytes = 0
    private var spares: [I420Buffer] = []

    var isEmpty: Bool { entries.isEmpty }
    /// When the oldest frame is to be presented; nil if there is none.
    var firstTime: MediaInstant? { entries.first?.time }

    /// Whether there is no room for another frame of this size; never if the queue is empty.
    func isFull(for size: PixelSize) -> Bool {
        !isEmpty && (entries.count >= Self.capacity || waitingBytes + Self.bytes(size) > Self.byteLimit)
    }

    /// Copies a frame in.
    /// - Parameters:
    ///   - frame: with even sides.
    ///   - time: nil, or earlier than that of the frame before it: at the same time as that one.
    mutating func append(_ frame: I420Frame, at time: MediaInstant?) {
        let last = entries.last?.time ?? time ?? MediaInstant(nanoseconds: 0)
        let buffer = takeSpare(of: frame.size) ?? I420Buffer(frame.size)
        buffer.copy(frame)
        waitingBytes += Self.bytes(frame.size)
        entries.append(Entry(time: max(time ?? last, last), buffer: buffer))
    }

    private static func bytes(_ size: PixelSize) -> Int { size.width * size.height * 3 / 2 }

    private mutating func takeSpare(of size: PixelSize) -> I420Buffer? {
        guard let spare = spares.popLast() else { return nil }
        guard spare.size == size else {
            spares.removeAll()
            return nil
        }
        return spare
    }

    /// Takes out the oldest frame, lent for the call. Nothing happens if there is none.
    mutating func takeFirst(_ body: (I420Frame) -> Void) {
        guard !entries.isEmpty else { return }
        let buffer = entries.removeFirst().buffer
        waitingBytes -= Self.bytes(buffer.size)
        body(buffer.frame)
        spares.append(buffer)
    }

    /// Frees the buffers of frames that were taken out.
    mutating func releaseBuffers() {
        if !spares.isEmpty { spares.removeAll() }
    }
}
