public import MediaCore

/// The minimum and maximum time for which a receiver holds a frame before it shows the frame.
///
///      0                   1                   2
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |       MIN delay       |       MAX delay       |   12 bits each, in 10 ms
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
public struct PlayoutDelay: Hashable, Sendable {
    /// In units of 10 ms, 0...4095.
    public var minimumUnits: UInt16
    public var maximumUnits: UInt16

    /// Frames are shown at once.
    public static let zero = PlayoutDelay(minimumUnits: 0, maximumUnits: 0)

    /// - Parameter minimumUnits: in 10 ms. Both values are clamped to 4095.
    public init(minimumUnits: UInt16, maximumUnits: UInt16) {
        self.minimumUnits = min(minimumUnits, 0xFFF)
        self.maximumUnits = min(maximumUnits, 0xFFF)
    }

    init(bits: UInt32) {
        minimumUnits = UInt16(truncatingIfNeeded: bits >> 12 & 0xFFF)
        maximumUnits = UInt16(truncatingIfNeeded: bits & 0xFFF)
    }

    var bits: UInt32 { UInt32(minimumUnits & 0xFFF) << 12 | UInt32(maximumUnits & 0xFFF) }

    public var minimum: MediaDuration { .milliseconds(Int(minimumUnits) &* 10) }
    public var maximum: MediaDuration { .milliseconds(Int(maximumUnits) &* 10) }
}
