import MediaCore

/// Splits captured audio into packets of 10 ms, each with the capture time of its first sample.
///
/// The latency that the server reports varies by a few milliseconds. Capture times follow it slowly (1/16 of the
/// difference per packet) and jump only after a gap.
struct CaptureChunker: ~Copyable {
    static let samplesPerPacket = AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels
    private static let packetDuration = MediaDuration.milliseconds(10)
    /// A larger difference between the expected and the measured capture time is a gap, not jitter.
    private static let gap = MediaDuration.milliseconds(40)

    private let packet = UnsafeMutablePointer<Int16>.allocate(capacity: samplesPerPacket)
    private var count = 0
    /// The capture time of the packet's first sample.
    private var captureTime = MediaInstant(nanoseconds: 0)
    private var expected: MediaInstant?

    init() {}

    deinit { packet.deallocate() }

    /// Drops the samples of an incomplete packet, because the next ones do not continue them.
    mutating func reset() {
        count = 0
        expected = nil
    }

    /// - Parameters:
    ///   - samples: interleaved; nil for silence.
    ///   - first: the capture time of the first sample.
    ///   - skipsSilence: whether packets of silence are left out.
    ///   - handler: called for each full packet.
    mutating func append(
        _ samples: UnsafePointer<Int16>?, count total: Int, capturedAt first: MediaInstant, skipsSilence: Bool = true,
        _ handler: (UnsafeBufferPointer<Int16>, MediaInstant) -> Void
    ) {
        var offset = 0
        while offset < total {
            if count == 0 { captureTime = smooth(first + Self.duration(ofSamples: offset)) }
            let taken = min(total - offset, Self.samplesPerPacket - count)
            if let samples {
                (packet + count).update(from: samples + offset, count: taken)
            } else {
                (packet + count).update(repeating: 0, count: taken)
            }
            count += taken
            offset += taken
            guard count == Self.samplesPerPacket else { continue }
            count = 0
            expected = captureTime + Self.packetDuration
            let full = UnsafeBufferPointer(start: packet, count: Self.samplesPerPacket)
            if !skipsSilence || !Self.isSilent(full) { handler(full, captureTime) }
        }
    }

    private func smooth(_ measured: MediaInstant) -> MediaInstant {
        guard let expected else { return measured }
        let difference = measured - expected
        if difference > Self.gap || difference < MediaDuration.zero - Self.gap { return measured }
        return expected + MediaDuration(nanoseconds: difference.nanoseconds / 16)
    }

    static func duration(ofSamples count: Int) -> MediaDuration {
        MediaDuration(nanoseconds: Int64(count / AudioFormat.channels) * 1_000_000_000 / Int64(AudioFormat.sampleRate))
    }

    private static func isSilent(_ samples: UnsafeBufferPointer<Int16>) -> Bool {
        var all = Int16(0)
        for sample in samples { all |= sample }
        return all == 0
    }
}
