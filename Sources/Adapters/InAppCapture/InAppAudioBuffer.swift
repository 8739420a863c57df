internal import MediaCore

/// Audio of an app that waits for one consumer, with the instant at which it was handed in.
///
/// An app hands samples in with jitter and in pieces of any length. The instants are therefore counted in samples, and
/// follow the clock slowly; after a gap they start anew.
struct InAppAudioBuffer {
    static let packet = AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels
    /// A larger difference between the count and the clock is a gap.
    static let tolerance = MediaDuration.milliseconds(40)

    /// Interleaved samples that were not taken yet.
    private var samples: [Int16] = []
    /// When the first of them was handed in, or the next one is expected.
    private var since: MediaInstant?
    private let limit: Int
    var isStopped = false

    init(capacity: MediaDuration) { limit = Int(capacity.nanoseconds / 10_000_000) * Self.packet }

    mutating func append(_ new: UnsafeBufferPointer<Int16>, at now: MediaInstant) {
        let waiting = Self.duration(samples.count)
        let start = now - waiting
        if let expected = since, abs((start - expected).nanoseconds) <= Self.tolerance.nanoseconds {
            since = expected + MediaDuration(nanoseconds: (start - expected).nanoseconds / 64)
        } else {
            since = start
        }
        samples.append(contentsOf: new)
        let excess = samples.count - limit
        if excess > 0 {
            // Whole packets, so that the channels keep their places.
            let dropped = min((excess + Self.packet - 1) / Self.packet * Self.packet, samples.count)
            samples.removeFirst(dropped)
            since = since.map { $0 + Self.duration(dropped) }
        }
    }

    /// Takes 10 ms.
    /// - Returns: when they were handed in; nil if fewer samples wait.
    mutating func take(_ target: inout [Int16]) -> MediaInstant? {
        guard samples.count >= Self.packet, let instant = since else { return nil }
        target.replaceSubrange(0..<Self.packet, with: samples[..<Self.packet])
        samples.removeFirst(Self.packet)
        since = instant + .milliseconds(10)
        return instant
    }

    private static func duration(_ samples: Int) -> MediaDuration {
        MediaDuration(
            nanoseconds: Int64(samples / AudioFormat.channels) * 1_000_000_000 / Int64(AudioFormat.sampleRate))
    }
}
