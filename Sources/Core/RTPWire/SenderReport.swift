/// The sender information of a report: RFC 3550 section 6.4.1.
///
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                         SSRC of sender                        |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |             NTP timestamp, 64 bits                            |
///     |                                                               |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                         RTP timestamp                         |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                     sender's packet count                     |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |                      sender's octet count                     |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
public struct SenderInfo: Hashable, Sendable {
    static let length = 24

    public var ssrc: UInt32
    /// The moment of the report on the NTP clock.
    public var ntp: NTPTimestamp
    /// The same moment on the stream's RTP clock.
    public var rtpTimestamp: RTPTimestamp
    public var packetCount: UInt32
    /// Payload bytes, without headers and padding.
    public var octetCount: UInt32

    public init(
        ssrc: UInt32, ntp: NTPTimestamp, rtpTimestamp: RTPTimestamp, packetCount: UInt32, octetCount: UInt32
    ) {
        self.ssrc = ssrc
        self.ntp = ntp
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
    }

    /// Writes a sender report without blocks, 28 bytes; blocks can be appended.
    /// - Throws: `BufferFull`; nothing was written then.
    @discardableResult
    public func write(into writer: inout ByteWriter) throws(BufferFull) -> ReportBlockWriter {
        let start = try writer.openRTCP(type: RTCPType.senderReport, count: 0, bodyLength: Self.length)
        try writer.write(uint32: ssrc)
        try writer.write(uint64: ntp.rawValue)
        try writer.write(uint32: rtpTimestamp.rawValue)
        try writer.write(uint32: packetCount)
        try writer.write(uint32: octetCount)
        writer.closeRTCP(start)
        return ReportBlockWriter(start: start)
    }
}

/// A received sender report. Borrows the bytes.
public struct SenderReport {
    public let info: SenderInfo
    public let blocks: ReportBlocks

    init(_ body: RTCPBody) throws(RTPMalformed) {
        guard body.bytes.count >= SenderInfo.length else { throw RTPMalformed(.rtcpCount) }
        var reader = ByteReader(body.bytes)
        info = SenderInfo(
            ssrc: try reader.uint32(), ntp: NTPTimestamp(rawValue: try reader.uint64()),
            rtpTimestamp: RTPTimestamp(try reader.uint32()), packetCount: try reader.uint32(),
            octetCount: try reader.uint32())
        blocks = try ReportBlocks(count: body.count, reader.rest())
    }
}
