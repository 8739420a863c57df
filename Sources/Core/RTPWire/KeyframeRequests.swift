/// PLI, the request for a key frame after a decoding failure: RFC 4585 section 6.3.1.
public struct PictureLossIndication: Hashable, Sendable {
    static let format: UInt8 = 1

    public var senderSSRC: UInt32
    public var mediaSSRC: UInt32

    public init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }

    init(_ body: RTCPBody) throws(RTPMalformed) {
        var reader = ByteReader(body.bytes)
        (senderSSRC, mediaSSRC) = try reader.feedbackSources()
    }

    /// Writes 12 bytes.
    /// - Throws: `BufferFull`; nothing was written then.
    public func write(into writer: inout ByteWriter) throws(BufferFull) {
        let start = try writer.openRTCP(type: RTCPType.payloadSpecificFeedback, count: Self.format, bodyLength: 8)
        try writer.write(uint32: senderSSRC)
        try writer.write(uint32: mediaSSRC)
        writer.closeRTCP(start)
    }
}

/// FIR, the request for a key frame for a new receiver: RFC 5104 section 4.3.1. Borrows the bytes; iterating gives the
/// entries.
public struct FullIntraRequest: Sequence {
    static let format: UInt8 = 4

    public struct Entry: Hashable, Sendable {
        public let ssrc: UInt32
        /// The command sequence number; the same number again is a repetition of the request.
        public let number: UInt8
    }

    public let senderSSRC: UInt32
    private let entries: UnsafeRawBufferPointer

    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |                              SSRC                             |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |   number      |                  reserved                     |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    init(_ body: RTCPBody) throws(RTPMalformed) {
        var reader = ByteReader(body.bytes)
        // The media SSRC is unused here and 0; the entries name the streams.
        senderSSRC = try reader.feedbackSources().sender
        guard reader.remaining >= 8 else { throw RTPMalformed(.rtcpCount) }
        entries = reader.rest()
    }

    public func makeIterator() -> Iterator { Iterator(reader: ByteReader(entries)) }

    public struct Iterator: IteratorProtocol {
        var reader: ByteReader
        public mutating func next() -> Entry? {
            guard reader.remaining >= 8, let ssrc = try? reader.uint32(), let word = try? reader.uint32() else {
                return nil
            }
            return Entry(ssrc: ssrc, number: UInt8(truncatingIfNeeded: word >> 24))
        }
    }

    /// Writes a request for one stream, 20 bytes.
    /// - Throws: `BufferFull`; nothing was written then.
    public static func write(
        senderSSRC: UInt32, mediaSSRC: UInt32, number: UInt8, into writer: inout ByteWriter
    ) throws(BufferFull) {
        let start = try writer.openRTCP(type: RTCPType.payloadSpecificFeedback, count: Self.format, bodyLength: 16)
        try writer.write(uint32: senderSSRC)
        try writer.write(uint32: 0)
        try writer.write(uint32: mediaSSRC)
        try writer.write(uint32: UInt32(number) << 24)
        writer.closeRTCP(start)
    }
}
