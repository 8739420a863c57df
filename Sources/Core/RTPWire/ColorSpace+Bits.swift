import MediaCore

/// The value of libwebrtc's `color-space`, without HDR metadata.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |   primaries   |   transfer    |    matrix     |0 0| r | h | v |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///
/// r: range. h and v: horizontal and vertical siting of chroma.
extension ColorSpace {
    static let length = 4
    /// With mastering metadata and light levels, which are neither read nor written.
    static let lengthWithHDRMetadata = 28

    init(bits: UInt32) {
        self.init(
            primaries: UInt8(truncatingIfNeeded: bits >> 24), transfer: UInt8(truncatingIfNeeded: bits >> 16),
            matrix: UInt8(truncatingIfNeeded: bits >> 8),
            range: Range(rawValue: UInt8(truncatingIfNeeded: bits >> 4 & 3)) ?? .unspecified,
            horizontalSiting: ChromaSiting(rawValue: UInt8(truncatingIfNeeded: bits >> 2 & 3)) ?? .unspecified,
            verticalSiting: ChromaSiting(rawValue: UInt8(truncatingIfNeeded: bits & 3)) ?? .unspecified)
    }

    var bits: UInt32 {
        UInt32(primaries) << 24 | UInt32(transfer) << 16 | UInt32(matrix) << 8 | UInt32(range.rawValue) << 4
            | UInt32(horizontalSiting.rawValue) << 2 | UInt32(verticalSiting.rawValue)
    }
}
