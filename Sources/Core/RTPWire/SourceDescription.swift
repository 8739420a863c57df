/// A received source description; only the canonical names are read: RFC 3550 section 6.5. Borrows the bytes.
///
/// Iterating gives one element for each chunk; a malformed chunk ends it.
public struct SourceDescription: Sequence {
    public struct Chunk {
        public let ssrc: UInt32
        /// UTF-8, 0...255 bytes; nil if the chunk has no CNAME item.
        public let cname: UnsafeRawBufferPointer?
    }

    private let chunkCount: UInt8
    private let bytes: UnsafeRawBufferPointer

    init(_ body: RTCPBody) throws(RTPMalformed) {
        // A chunk is an SSRC and at least one terminating 0, in whole words.
        guard body.bytes.count >= Int(body.count) &* 8 else { throw RTPMalformed(.rtcpCount) }
        chunkCount = body.count
        bytes = body.bytes
    }

    public func makeIterator() -> Iterator { Iterator(left: chunkCount, reader: ByteReader(bytes)) }

    public struct Iterator: IteratorProtocol {
        var left: UInt8
        var reader: ByteReader

        public mutating func next() -> Chunk? {
            guard left > 0 else { return nil }
            left &-= 1
            do throws(RTPMalformed) {
                return try nextChunk()
            } catch {
                left = 0
                return nil
            }
        }

        //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
        //  |                             SSRC                              |
        //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
        //  |  item = 1     |     length    |  text, items, 0, to the word
        //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
        private mutating func nextChunk() throws(RTPMalformed) -> Chunk {
            let ssrc = try reader.uint32()
            var cname: UnsafeRawBufferPointer?
            while true {
                let item = try reader.uint8()
                if item == 0 { break }
                let length = Int(try reader.uint8())
                let text = try reader.bytes(length)
                if item == 1, cname == nil { cname = text }
            }
            try reader.skip((0 &- reader.position) & 3)
            return Chunk(ssrc: ssrc, cname: cname)
        }
    }

    /// Writes a source description with the CNAME of one source.
    /// - Parameter cname: 1...255 bytes of UTF-8.
    /// - Throws: `BufferFull`; nothing was written then.
    public static func write(ssrc: UInt32, cname: String, into writer: inout ByteWriter) throws(BufferFull) {
        let length = cname.utf8.count
        precondition((1...255).contains(length), "CNAME of \(length) bytes")
        // SSRC, item, length, text and at least one terminating 0, in whole words.
        let bodyLength = (4 &+ 2 &+ length &+ 1 &+ 3) & ~3
        let start = try writer.openRTCP(type: RTCPType.sourceDescription, count: 1, bodyLength: bodyLength)
        try writer.write(uint32: ssrc)
        try writer.write(uint8: 1)
        try writer.write(uint8: UInt8(truncatingIfNeeded: length))
        try writer.write(cname)
        try writer.write(zeros: start &+ RTCPBody.headerLength &+ bodyLength &- writer.position)
        writer.closeRTCP(start)
    }
}
