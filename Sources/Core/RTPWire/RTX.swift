/// Retransmission as a stream of its own: RFC 4588.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |             RTP header, with the extensions of the original   |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     | original sequence number (OSN)|     original payload          |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
public enum RTX {
    /// Bytes that wrapping adds to a packet.
    public static let overhead = 2

    /// Copies a packet into a retransmission packet. The original's layout applies to the copy, too.
    /// - Parameters:
    ///   - original: one whole RTP packet; its padding is left out.
    ///   - mid: the extension's id and value, added if the original has no mid (RFC 9143 section 9.2). Once Firefox has
    ///     seen a mid on one stream of a section, it ignores other streams without it. A value that does not fit the
    ///     form of the original's extension (RFC 8285) is left out.
    ///   - buffer: must not overlap the original.
    /// - Returns: the copy's length in bytes.
    /// - Throws: `BufferFull`; the buffer's bytes are then unspecified.
    public static func wrap(
        _ original: RTPPacketView, of bytes: UnsafeRawBufferPointer, ssrc: UInt32, payloadType: UInt8,
        sequenceNumber: SequenceNumber, mid: (id: UInt8, value: String)? = nil,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(BufferFull) -> Int {
        var writer = ByteWriter(buffer)
        try writer.require(original.headerLength &+ Self.overhead &+ original.payload.count)
        try writer.write(bytes.part(0, original.headerLength))
        writer.patch(uint8: buffer[0] & ~0x20, at: 0)
        if let mid, original.extensions.data(of: mid.id) == nil { try add(mid, to: original, into: &writer) }
        writer.patch(uint8: buffer[1] & 0x80 | payloadType & 0x7F, at: 1)
        writer.patch(uint16: sequenceNumber.rawValue, at: 2)
        writer.patch(uint16: UInt16(truncatingIfNeeded: ssrc >> 16), at: 8)
        writer.patch(uint16: UInt16(truncatingIfNeeded: ssrc), at: 10)
        try writer.write(uint16: original.sequenceNumber.rawValue)
        try writer.write(original.payload)
        return writer.position
    }

    /// Adds one element after those of the original, which end at a word boundary, or as the first one.
    private static func add(
        _ mid: (id: UInt8, value: String), to original: RTPPacketView, into writer: inout ByteWriter
    ) throws(BufferFull) {
        let length = mid.value.utf8.count
        guard mid.id > 0, HeaderExtension.mid.lengths.contains(length) else { return }
        let old = original.extensions
        let isLong = old.profile == 0x1000 || HeaderExtensionMap.needsTwoByteForm(id: mid.id, length: length)
        let form: UInt16 = isLong ? 0x1000 : 0xBEDE
        if original.headerLength == RTPHeader.length &+ original.csrcCount &* 4 {
            writer.patch(uint8: 0x90 | UInt8(truncatingIfNeeded: original.csrcCount), at: 0)
            try writer.write(uint16: form)
            try writer.write(uint16: 0)
        } else if old.profile != form {
            return
        }
        let start = writer.position
        try WrittenPacketLayout.writeElementHeader(mid.id, length, isLong, into: &writer)
        try writer.write(mid.value)
        try writer.write(zeros: (start &- writer.position) & 3)
        let words = (old.bytes.count &+ writer.position &- start) / 4
        writer.patch(uint16: UInt16(truncatingIfNeeded: words), at: start &- old.bytes.count &- 2)
    }

    /// Returns the original packet of a retransmission, without copying.
    /// - Returns: nil if the payload is empty, as in probes with padding.
    /// - Throws: `.rtx` if the payload has one byte.
    public static func unwrap(
        _ packet: RTPPacketView, ssrc: UInt32, payloadType: UInt8
    ) throws(RTPMalformed) -> RTPPacketView? {
        if packet.payload.isEmpty { return nil }
        guard packet.payload.count >= Self.overhead else { throw RTPMalformed(.rtx) }
        var reader = ByteReader(packet.payload)
        var header = packet.header
        header.sequenceNumber = SequenceNumber(try reader.uint16())
        header.ssrc = ssrc
        header.payloadType = payloadType
        return packet.replacing(header: header, payload: reader.rest())
    }
}
