import MediaCore

/// Sound that waits for the device: at most 200 ms; what comes on top pushes the oldest out. Not thread-safe.
struct SampleRing: ~Copyable {
    static let capacity = AudioFormat.sampleRate / 5 * AudioFormat.channels
    /// What has to be there before playing starts (again): two packets, so that one late one is not heard.
    static let prefill = 2 * AudioFormat.framesPerTenMilliseconds * AudioFormat.channels

    private let samples = UnsafeMutablePointer<Int16>.allocate(capacity: capacity)
    private var start = 0
    /// Samples in the ring.
    private(set) var count = 0
    /// Samples pushed out so far.
    private(set) var dropped = 0
    private var isPrimed = false

    init() {}

    deinit { samples.deallocate() }

    mutating func append(_ new: UnsafeBufferPointer<Int16>) {
        let new = UnsafeBufferPointer(rebasing: new.suffix(Self.capacity))
        let excess = max(count + new.count - Self.capacity, 0)
        start = (start + excess) % Self.capacity
        count -= excess
        dropped += excess
        guard let source = new.baseAddress else { return }
        let end = (start + count) % Self.capacity
        let first = min(new.count, Self.capacity - end)
        (samples + end).update(from: source, count: first)
        samples.update(from: source + first, count: new.count - first)
        count += new.count
    }

    /// Fills the buffer; what is missing is silence.
    /// - Returns: false if nothing but silence was written.
    mutating func take(_ buffer: UnsafeMutableBufferPointer<Int16>) -> Bool {
        guard let target = buffer.baseAddress else { return false }
        if !isPrimed, count >= Self.prefill { isPrimed = true }
        let taken = isPrimed ? min(buffer.count, count) : 0
        let first = min(taken, Self.capacity - start)
        target.update(from: samples + start, count: first)
        (target + first).update(from: samples, count: taken - first)
        (target + taken).update(repeating: 0, count: buffer.count - taken)
        start = (start + taken) % Self.capacity
        count -= taken
        if count == 0 { isPrimed = false }
        return taken > 0
    }

    mutating func clear() {
        dropped += count
        count = 0
        isPrimed = false
    }
}
