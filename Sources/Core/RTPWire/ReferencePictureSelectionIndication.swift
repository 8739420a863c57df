/// RPSI, the acknowledgement of a frame: RFC 4585 section 6.3.3, with a 15-bit VP8 PictureID, RFC 7741 section 5.1.
///
/// Alone it acknowledges the frame; before a PLI in the same datagram it names the frame from which the receiver can
/// recover.
public struct ReferencePictureSelectionIndication: Hashable, Sendable {
    static let format: UInt8 = 3

    public var senderSSRC: UInt32
    public var mediaSSRC: UInt32
    public var payloadType: UInt8
    /// 15 bits.
    public var pictureID: UInt16

    public init(senderSSRC: UInt32, mediaSSRC: UInt32, payloadType: UInt8, pictureID: UInt16) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.payloadType = payloadType & 0x7F
        self.pictureID = pictureID & 0x7FFF
    }

    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |  padding bits |0| Payload Type|1|         PictureID           |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  No padding bits; the 16 bits are those of the payload descriptor.

    /// - Throws: `.rtcpCount` for any other form, such as that of another codec.
    init(_ body: RTCPBody) throws(RTPMalformed) {
        var reader = ByteReader(body.bytes)
        (senderSSRC, mediaSSRC) = try reader.feedbackSources()
        guard reader.remaining == 4 else { throw RTPMalformed(.rtcpCount) }
        let word = try reader.uint32()
        guard word >> 23 == 0, word & 0x8000 != 0 else { throw RTPMalformed(.rtcpCount) }
        payloadType = UInt8(truncatingIfNeeded: word >> 16) & 0x7F
        pictureID = UInt16(truncatingIfNeeded: word) & 0x7FFF
    }

    /// Writes 16 bytes.
    /// - Throws: `BufferFull`; nothing was written then.
    public func write(into writer: inout ByteWriter) throws(BufferFull) {
        let start = try writer.openRTCP(type: RTCPType.payloadSpecificFeedback, count: Self.format, bodyLength: 12)
        try writer.write(uint32: senderSSRC)
        try writer.write(uint32: mediaSSRC)
        try writer.write(uint32: UInt32(payloadType & 0x7F) << 16 | 0x8000 | UInt32(pictureID & 0x7FFF))
        writer.closeRTCP(start)
    }
}
