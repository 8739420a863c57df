public import MediaCore

/// A receiver's bandwidth estimate: REMB, draft-alvestrand-rmcat-remb-03 section 2.2.
///
/// Borrows the bytes; iterating gives the SSRCs that share the bitrate.
public struct REMB: Sequence {
    static let format: UInt8 = 15
    private static let identifier: UInt32 = 0x5245_4D42  // "REMB"

    public let senderSSRC: UInt32
    /// At most 2^62 bit/s; larger values of a packet are clamped.
    public let bitrate: Bitrate
    private let sources: UnsafeRawBufferPointer

    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |  unique identifier 'R' 'E' 'M' 'B'                            |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |  Num SSRC     | BR Exp    |  BR Mantissa                      |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |   SSRC feedback, Num SSRC x                                   |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+

    /// Nil if the packet is another application-layer feedback.
    init?(_ body: RTCPBody) throws(RTPMalformed) {
        var reader = ByteReader(body.bytes)
        senderSSRC = try reader.feedbackSources().sender
        guard let identifier = try? reader.uint32(), identifier == Self.identifier else { return nil }
        guard reader.remaining >= 4 else { throw RTPMalformed(.rtcpCount) }
        let count = Int(try reader.uint8())
        let bits = try reader.uint24()
        let mantissa = Int(bits & 0x3_FFFF)
        let exponent = Int(bits >> 18)
        let limit = 1 << 62
        bitrate = Bitrate(bitsPerSecond: mantissa > limit >> exponent ? limit : mantissa << exponent)
        guard count &* 4 <= reader.remaining else { throw RTPMalformed(.rtcpCount) }
        sources = try reader.bytes(count &* 4)
    }

    public func makeIterator() -> Iterator { Iterator(reader: ByteReader(sources)) }

    public struct Iterator: IteratorProtocol {
        var reader: ByteReader
        public mutating func next() -> UInt32? { try? reader.uint32() }
    }

    /// Writes an estimate for one stream, 24 bytes; the bitrate is rounded down to 18 significant bits.
    /// - Throws: `BufferFull`; nothing was written then.
    public static func write(
        senderSSRC: UInt32, mediaSSRC: UInt32, bitrate: Bitrate, into writer: inout ByteWriter
    ) throws(BufferFull) {
        let bits = Swift.max(bitrate.bitsPerSecond, 0)
        let exponent = Swift.max(0, Int.bitWidth &- bits.leadingZeroBitCount &- 18)
        let start = try writer.openRTCP(type: RTCPType.payloadSpecificFeedback, count: Self.format, bodyLength: 20)
        try writer.write(uint32: senderSSRC)
        try writer.write(uint32: 0)
        try writer.write(uint32: identifier)
        try writer.write(uint8: 1)
        try writer.write(uint24: UInt32(exponent) << 18 | UInt32(truncatingIfNeeded: bits >> exponent))
        try writer.write(uint32: mediaSSRC)
        writer.closeRTCP(start)
    }
}
