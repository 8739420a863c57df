/// Measures how loud audio is: the root mean square of the last packets in dBFS, where 0 is a full-scale square wave.
/// The level falls by 20 dB in 300 ms after a loud packet, as with a peak programme meter.
public struct AudioLevelMeter: Sendable {
    /// Below this, audio counts as silence.
    public static let silence = -70.0
    private static let decibelsPerNanosecond = 20.0 / 300_000_000
    /// A level older than this is not current: the source delivers nothing.
    private static let validity = MediaDuration.milliseconds(500)

    private var level = silence
    private var measured: MediaInstant?

    public init() {}

    /// - Parameter samples: interleaved; empty ones change nothing.
    public mutating func add(_ samples: UnsafeBufferPointer<Int16>, at instant: MediaInstant) {
        guard !samples.isEmpty else { return }
        var sum = 0.0
        for sample in samples { sum += Double(sample) * Double(sample) }
        let decibels = 10 * Self.log10(sum / Double(samples.count) / (32_768 * 32_768))
        level = max(decibels, fallen(to: instant))
        measured = instant
    }

    /// Forgets what was measured.
    public mutating func reset() { measured = nil }

    /// - Returns: dBFS, `silence`...0; nil in silence.
    public func decibels(at now: MediaInstant) -> Double? {
        guard let measured, now - measured < Self.validity else { return nil }
        let level = fallen(to: now)
        return level > Self.silence ? min(level, 0) : nil
    }

    private func fallen(to now: MediaInstant) -> Double {
        guard let measured else { return Self.silence }
        let elapsed = Double(max(0, (now - measured).nanoseconds))
        return max(Self.silence, level - elapsed * Self.decibelsPerNanosecond)
    }

    /// The logarithm of a value from 0 to 1, within 0.01; the core has no C library.
    private static func log10(_ value: Double) -> Double {
        guard value > 0 else { return -30 }
        // value = significand * 2^exponent, with a significand in 1..<2; the series of the area tangent converges fast.
        let ratio = (value.significand - 1) / (value.significand + 1)
        let square = ratio * ratio
        let natural = 2 * ratio * (1 + square * (1.0 / 3 + square * (1.0 / 5 + square / 7)))
        return (natural + Double(value.exponent) * 0.693_147_180_559_945) / 2.302_585_092_994_046
    }
}
