/// The fields of RTP's fixed header that change from packet to packet (RFC 3550 section 5.1).
public struct RTPHeader: Hashable, Sendable {
    /// Bytes of the fixed header.
    public static let length = 12

    public var marker: Bool
    /// 0...127.
    public var payloadType: UInt8
    public var sequenceNumber: SequenceNumber
    public var timestamp: RTPTimestamp
    public var ssrc: UInt32

    public init(
        marker: Bool, payloadType: UInt8, sequenceNumber: SequenceNumber, timestamp: RTPTimestamp, ssrc: UInt32
    ) {
        self.marker = marker
        self.payloadType = payloadType
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
    }

    /// Writes 12 bytes, without CSRCs, extension or padding.
    func write(into writer: inout ByteWriter, hasExtension: Bool) throws(BufferFull) {
        try writer.require(Self.length)
        try writer.write(uint8: 0x80 | (hasExtension ? 0x10 : 0))
        try writer.write(uint8: (marker ? 0x80 : 0) | (payloadType & 0x7F))
        try writer.write(uint16: sequenceNumber.rawValue)
        try writer.write(uint32: timestamp.rawValue)
        try writer.write(uint32: ssrc)
    }
}
