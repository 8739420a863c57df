/// A received receiver report: RFC 3550 section 6.4.2. Borrows the bytes.
public struct ReceiverReport {
    /// The SSRC of the reporting receiver.
    public let ssrc: UInt32
    public let blocks: ReportBlocks

    init(_ body: RTCPBody) throws(RTPMalformed) {
        guard body.bytes.count >= 4 else { throw RTPMalformed(.rtcpCount) }
        var reader = ByteReader(body.bytes)
        ssrc = try reader.uint32()
        blocks = try ReportBlocks(count: body.count, reader.rest())
    }

    /// Writes a receiver report without blocks, 8 bytes; blocks can be appended.
    /// - Throws: `BufferFull`; nothing was written then.
    @discardableResult
    public static func write(ssrc: UInt32, into writer: inout ByteWriter) throws(BufferFull) -> ReportBlockWriter {
        let start = try writer.openRTCP(type: RTCPType.receiverReport, count: 0, bodyLength: 4)
        try writer.write(uint32: ssrc)
        writer.closeRTCP(start)
        return ReportBlockWriter(start: start)
    }
}
