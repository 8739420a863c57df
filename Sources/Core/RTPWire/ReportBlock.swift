public import MediaCore

/// The reception quality of one stream: RFC 3550 section 6.4.1.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                 SSRC of the stream reported                   |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     | fraction lost |       cumulative number of packets lost       |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |           extended highest sequence number received           |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                      interarrival jitter                      |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                         last SR (LSR)                         |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                   delay since last SR (DLSR)                  |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
public struct ReportBlock: Hashable, Sendable {
    public static let length = 24

    public var ssrc: UInt32
    /// In 1/256 of the packets expected since the last report.
    public var fractionLost: UInt8
    /// 24 bits, signed: duplicates can make it negative. Written clamped.
    public var cumulativeLost: Int32
    /// The low 16 bits are the sequence number, the high ones count its wraps.
    public var highestSequence: UInt32
    /// In ticks of the stream's clock.
    public var jitter: UInt32
    /// The middle 32 bits of the last sender report's NTP time; 0: none yet.
    public var lastSenderReport: UInt32
    /// In 1/65536 s.
    public var delaySinceLastSenderReport: UInt32

    public init(
        ssrc: UInt32, fractionLost: UInt8 = 0, cumulativeLost: Int32 = 0, highestSequence: UInt32 = 0,
        jitter: UInt32 = 0, lastSenderReport: UInt32 = 0, delaySinceLastSenderReport: UInt32 = 0
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceLastSenderReport = delaySinceLastSenderReport
    }

    init(_ reader: inout ByteReader) throws(RTPMalformed) {
        ssrc = try reader.uint32()
        fractionLost = try reader.uint8()
        cumulativeLost = Int32(bitPattern: try reader.uint24() << 8) >> 8
        highestSequence = try reader.uint32()
        jitter = try reader.uint32()
        lastSenderReport = try reader.uint32()
        delaySinceLastSenderReport = try reader.uint32()
    }

    func write(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.require(Self.length)
        try writer.write(uint32: ssrc)
        try writer.write(uint8: fractionLost)
        try writer.write(uint24: UInt32(bitPattern: min(max(cumulativeLost, -0x80_0000), 0x7F_FFFF)))
        try writer.write(uint32: highestSequence)
        try writer.write(uint32: jitter)
        try writer.write(uint32: lastSenderReport)
        try writer.write(uint32: delaySinceLastSenderReport)
    }

    /// Returns the round trip time of a report that arrives at `now`; nil if it does not refer to a sender report. A
    /// negative one becomes 0; one over 60 s is implausible and gives nil.
    public func roundTripTime(now: NTPTimestamp) -> MediaDuration? {
        guard lastSenderReport != 0 else { return nil }
        let units = Int32(bitPattern: now.middle &- lastSenderReport &- delaySinceLastSenderReport)
        guard units > 0 else { return units > -60 &* 65_536 ? .zero : nil }
        guard units <= 60 &* 65_536 else { return nil }
        return NTPTimestamp.duration(ofShortInterval: UInt32(units))
    }
}

/// The report blocks of one received report, at most 31. Borrows the bytes.
public struct ReportBlocks: Sequence {
    public let count: Int
    private let bytes: UnsafeRawBufferPointer

    /// - Throws: `.rtcpCount` if there are fewer blocks than the header says; bytes after them are ignored.
    init(count: UInt8, _ bytes: UnsafeRawBufferPointer) throws(RTPMalformed) {
        self.count = Int(count)
        guard self.count &* ReportBlock.length <= bytes.count else { throw RTPMalformed(.rtcpCount) }
        self.bytes = bytes.part(0, self.count &* ReportBlock.length)
    }

    public func makeIterator() -> Iterator { Iterator(reader: ByteReader(bytes)) }

    public struct Iterator: IteratorProtocol {
        var reader: ByteReader
        public mutating func next() -> ReportBlock? { try? ReportBlock(&reader) }
    }
}

/// A written report to which blocks can be appended. After each step the packet is complete and valid.
public struct ReportBlockWriter {
    let start: Int
    private var count: UInt8 = 0

    init(start: Int) { self.start = start }

    /// - Parameter writer: the writer of the report, with nothing written after the report.
    /// - Throws: `BufferFull`, also for the 32nd block; nothing was written then.
    public mutating func append(_ block: ReportBlock, into writer: inout ByteWriter) throws(BufferFull) {
        guard count < 31 else { throw BufferFull() }
        try block.write(into: &writer)
        count &+= 1
        writer.patch(uint8: 0x80 | count, at: start)
        writer.closeRTCP(start)
    }
}
