/// Sound that waits for a device: at most 200 ms; what comes on top pushes the oldest out. Not thread-safe.
///
/// A queue that filled up once, because the device began late, would stay full for ever, as both sides run at the same speed.
/// So what lay in it unused for half a second is skipped.
public struct AudioRingBuffer: ~Copyable {
    /// In samples.
    public static let capacity = AudioFormat.sampleRate / 5 * AudioFormat.channels

    /// Half a second of samples.
    private static let observation = AudioFormat.sampleRate * AudioFormat.channels / 2
    /// 30 ms may lie unused; more is brought down to 10 ms.
    private static let slack = 3 * AudioFormat.framesPerTenMilliseconds * AudioFormat.channels
    private static let reserve = AudioFormat.framesPerTenMilliseconds * AudioFormat.channels

    private let samples = UnsafeMutablePointer<Int16>.allocate(capacity: capacity)
    private let prefill: Int
    private var start = 0
    /// Samples in the ring.
    public private(set) var count = 0
    /// Samples pushed out so far.
    public private(set) var dropped = 0
    private var isPrimed = false
    /// The lowest count since the observation began.
    private var lowest = 0
    private var observed = 0

    /// - Parameter prefill: samples that have to be there before any is given out, at first and after the ring ran empty.
    public init(prefill: Int) { self.prefill = prefill }

    deinit { samples.deallocate() }

    public mutating func append(_ new: UnsafeBufferPointer<Int16>) {
        let new = UnsafeBufferPointer(rebasing: new.suffix(Self.capacity))
        skip(max(count + new.count - Self.capacity, 0))
        observed += new.count
        if observed >= Self.observation {
            if lowest > Self.slack { skip(min(lowest - Self.reserve, count)) }
            observed = 0
            lowest = count + new.count
        }
        guard let source = new.baseAddress else { return }
        let end = (start + count) % Self.capacity
        let first = min(new.count, Self.capacity - end)
        (samples + end).update(from: source, count: first)
        samples.update(from: source + first, count: new.count - first)
        count += new.count
    }

    /// - Returns: samples written, oldest first; what is missing in the buffer is left as it is.
    public mutating func take(_ buffer: UnsafeMutableBufferPointer<Int16>) -> Int {
        guard let target = buffer.baseAddress else { return 0 }
        if !isPrimed, count >= prefill { isPrimed = true }
        let taken = isPrimed ? min(buffer.count, count) : 0
        let first = min(taken, Self.capacity - start)
        target.update(from: samples + start, count: first)
        (target + first).update(from: samples, count: taken - first)
        start = (start + taken) % Self.capacity
        count -= taken
        lowest = min(lowest, count)
        if count == 0 { isPrimed = false }
        return taken
    }

    public mutating func clear() {
        skip(count)
        lowest = 0
        observed = 0
        isPrimed = false
    }

    private mutating func skip(_ excess: Int) {
        start = (start + excess) % Self.capacity
        count -= excess
        dropped += excess
    }
}
