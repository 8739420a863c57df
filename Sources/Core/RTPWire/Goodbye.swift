/// The sources that leave: RFC 3550 section 6.6. Borrows the bytes; iterating gives their SSRCs, at most 31.
public struct Goodbye: Sequence {
    public let count: Int
    /// UTF-8, for people; nil if none was given, or if it is cut off.
    public let reason: UnsafeRawBufferPointer?
    private let sources: UnsafeRawBufferPointer

    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |                           SSRC, count x                       |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |     length    |               reason for leaving            ...   optional
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    init(_ body: RTCPBody) throws(RTPMalformed) {
        count = Int(body.count)
        guard count &* 4 <= body.bytes.count else { throw RTPMalformed(.rtcpCount) }
        var reader = ByteReader(body.bytes)
        sources = try reader.bytes(count &* 4)
        if let length = try? reader.uint8(), length > 0 {
            reason = try? reader.bytes(Int(length))
        } else {
            reason = nil
        }
    }

    public func makeIterator() -> Iterator { Iterator(reader: ByteReader(sources)) }

    public struct Iterator: IteratorProtocol {
        var reader: ByteReader
        public mutating func next() -> UInt32? { try? reader.uint32() }
    }

    /// Writes that one source leaves, without a reason: 8 bytes.
    /// - Throws: `BufferFull`; nothing was written then.
    public static func write(ssrc: UInt32, into writer: inout ByteWriter) throws(BufferFull) {
        let start = try writer.openRTCP(type: RTCPType.goodbye, count: 1, bodyLength: 4)
        try writer.write(uint32: ssrc)
        writer.closeRTCP(start)
    }
}
