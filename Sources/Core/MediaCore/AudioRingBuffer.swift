/// A ring of audio samples in front of a playback device, at most 200 ms. Overflow: the oldest samples are dropped. Not
/// thread-safe.
///
/// A ring that filled up once, because the device started late, would stay full, as both sides run at the same rate.
/// Samples that lay unused for half a second are therefore skipped.
public struct AudioRingBuffer: ~Copyable {
    /// In samples.
    public static let capacity = AudioFormat.sampleRate / 5 * AudioFormat.channels

    /// Half a second, in samples.
    private static let observation = AudioFormat.sampleRate * AudioFormat.channels / 2
    /// 30 ms may lie unused; more is reduced to `reserve`, 10 ms.
    private static let slack = 3 * AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels
    private static let reserve = AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels

    private let samples = UnsafeMutablePointer<Int16>.allocate(capacity: capacity)
    private let prefill: Int
    private var start = 0
    /// Samples in the ring.
    public private(set) var count = 0
    /// Samples dropped so far.
    public private(set) var dropped = 0
    private var isPrimed = false
    /// The lowest count since the present observation began.
    private var lowest = 0
    private var observed = 0

    /// - Parameter prefill: samples that have to be in the ring before any is returned, at first and after it ran
    ///   empty.
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

    /// - Returns: the number of samples written, oldest first; the rest of the buffer is unchanged.
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
