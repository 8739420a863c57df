/// The lost packets of a generic NACK: RFC 4585 section 6.2.1.
///
/// Borrows the bytes; iterating gives the sequence numbers in the order of the packet, at most 17 for each 4 bytes of
/// it.
public struct Nack: Sequence {
    static let format: UInt8 = 1

    public let senderSSRC: UInt32
    public let mediaSSRC: UInt32
    private let entries: UnsafeRawBufferPointer

    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |     packet identifier (PID)   |  following lost packets (BLP) |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  Bit i of BLP, the lowest being 0, stands for PID + i + 1.
    init(_ body: RTCPBody) throws(RTPMalformed) {
        var reader = ByteReader(body.bytes)
        (senderSSRC, mediaSSRC) = try reader.feedbackSources()
        guard reader.remaining >= 4 else { throw RTPMalformed(.rtcpCount) }
        entries = reader.rest()
    }

    /// The number of lost packets.
    public var count: Int {
        var reader = ByteReader(entries)
        var count = 0
        while reader.remaining >= 4, (try? reader.uint16()) != nil, let blp = try? reader.uint16() {
            count &+= 1 &+ blp.nonzeroBitCount
        }
        return count
    }

    public func makeIterator() -> Iterator { Iterator(reader: ByteReader(entries)) }

    public struct Iterator: IteratorProtocol {
        var reader: ByteReader
        private var first = SequenceNumber(0)
        private var mask: UInt16 = 0

        init(reader: ByteReader) { self.reader = reader }

        public mutating func next() -> SequenceNumber? {
            if mask != 0 {
                let bit = mask.trailingZeroBitCount
                mask &= mask &- 1
                return first.advanced(by: bit &+ 1)
            }
            guard reader.remaining >= 4, let pid = try? reader.uint16(), let blp = try? reader.uint16() else {
                return nil
            }
            first = SequenceNumber(pid)
            mask = blp
            return first
        }
    }
}

/// Writes a generic NACK number by number. After each step the packet is complete and valid; without a number there is
/// no packet.
public struct NackWriter {
    private let senderSSRC: UInt32
    private let mediaSSRC: UInt32
    private var start: Int?
    private var end = 0
    private var first = SequenceNumber(0)
    private var mask: UInt16 = 0

    public init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }

    /// Adds a lost packet. Ascending order (across the wrap) packs best; any order is valid.
    /// - Parameter writer: the same at each call, with nothing else written in between.
    /// - Throws: `BufferFull`; the packet is then unchanged.
    public mutating func append(_ number: SequenceNumber, into writer: inout ByteWriter) throws(BufferFull) {
        if let start {
            precondition(writer.position == end, "something was written behind a NACK that is still open")
            let step = first.distance(to: number)
            if step == 0 { return }
            if (1...16).contains(step) {
                mask |= 1 << UInt16(step &- 1)
                writer.patch(uint16: mask, at: end &- 2)
                return
            }
            try writer.require(4)
            try writeEntry(number, into: &writer)
            writer.closeRTCP(start)
        } else {
            let start = try writer.openRTCP(type: RTCPType.transportLayerFeedback, count: Nack.format, bodyLength: 12)
            try writer.write(uint32: senderSSRC)
            try writer.write(uint32: mediaSSRC)
            try writeEntry(number, into: &writer)
            writer.closeRTCP(start)
            self.start = start
        }
    }

    private mutating func writeEntry(_ number: SequenceNumber, into writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(uint16: number.rawValue)
        try writer.write(uint16: 0)
        first = number
        mask = 0
        end = writer.position
    }
}
