/// What the header of a file says of its blocks.
public struct BlockFormat: Equatable, Sendable {
    /// Nanoseconds of one unit of time (RFC 9559 section 5.1.2.9), 1 or more.
    public var timestampScale: UInt64 = 1_000_000
    /// The length of a frame in nanoseconds, by track, where the header says it (RFC 9559 section 5.1.4.1.13).
    public var durations: [UInt8: Int64] = [:]
    /// Their packets say how long they are.
    public var opusTracks: Set<UInt8> = []

    public init() {}

    /// A time in milliseconds.
    /// - Returns: nil if it is out of the range of a file.
    func milliseconds(_ units: Int64) -> Int64? {
        guard let scale = Int64(exactly: timestampScale) else { return nil }
        let (product, overflows) = units.multipliedReportingOverflow(by: scale)
        let limit = RecordedCluster.latest * 1_000_000
        guard !overflows, product.magnitude <= UInt64(limit) else { return nil }
        return (product + (product < 0 ? -500_000 : 500_000)) / 1_000_000
    }

    /// The length of a frame in nanoseconds; 0 if it is unknown.
    func duration(of frame: ArraySlice<UInt8>, track: UInt8) -> Int64 {
        if opusTracks.contains(track) { return Int64(OpusPacketLength.samples(of: frame)) * 1_000_000_000 / 48_000 }
        return durations[track] ?? 0
    }
}

/// The length of Opus packets (RFC 6716 section 3).
enum OpusPacketLength {
    /// In samples at 48 kHz; 0 for a malformed packet.
    static func samples(of packet: ArraySlice<UInt8>) -> Int {
        guard let toc = packet.first else { return 0 }
        let frames =
            switch toc & 3 {
            case 0: 1
            case 1, 2: 2
            default: packet.count > 1 ? Int(packet[packet.startIndex + 1] & 0x3F) : 0
            }
        let frame =
            switch toc >> 3 {
            case let number where number < 12: [480, 960, 1_920, 2_880][Int(number & 3)]
            case let number where number < 16: [480, 960][Int(number & 1)]
            case let number: [120, 240, 480, 960][Int(number & 3)]
            }
        return min(frames * frame, 5_760)
    }
}
