/// Redundant audio: RFC 2198. A packet repeats older blocks, oldest first, before its own block.
///
///      0                   1                    2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3  4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |1|   block PT  |  timestamp offset         |   block length    |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |0|   block PT  |   of the packet's own block, the last header
///     +-+-+-+-+-+-+-+-+
public struct RedundantPayload: Sequence, IteratorProtocol {
    /// The bytes of an older block's header, and of the last header.
    public static let (headerLength, lastHeaderLength) = (4, 1)
    /// The largest values of an older block's fields.
    public static let (longestBlock, farthestOffset) = (0x3FF, 0x3FFF)
    private static let mostBlocks = 16

    public struct Block {
        public var payloadType: UInt8
        /// The block's age relative to the packet's time stamp, in ticks; 0 for the packet's own block.
        public var timestampOffset: Int
        public var isPrimary: Bool
        public var bytes: UnsafeRawBufferPointer
    }

    private let payload: UnsafeRawBufferPointer
    private var header = 0
    private var data: Int
    private var isOver = false

    /// - Throws: `.redundancy` if headers or blocks are longer than the payload, or there are more than 16 blocks.
    public init(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) {
        self.payload = payload
        var position = 0
        var sum = 0
        var blocks = 0
        while true {
            blocks &+= 1
            guard blocks <= Self.mostBlocks, position < payload.count else { throw RTPMalformed(.redundancy) }
            guard payload[position] & 0x80 != 0 else { break }
            guard payload.count &- position > Self.headerLength else { throw RTPMalformed(.redundancy) }
            sum &+= Self.length(payload, position)
            position &+= Self.headerLength
        }
        data = position &+ Self.lastHeaderLength
        guard data &+ sum <= payload.count else { throw RTPMalformed(.redundancy) }
    }

    public mutating func next() -> Block? {
        guard !isOver else { return nil }
        let type = payload[header] & 0x7F
        guard payload[header] & 0x80 != 0 else {
            isOver = true
            let rest = UnsafeRawBufferPointer(rebasing: payload[data...])
            return Block(payloadType: type, timestampOffset: 0, isPrimary: true, bytes: rest)
        }
        let length = Self.length(payload, header)
        let offset = Int(payload[header &+ 1]) << 6 | Int(payload[header &+ 2]) >> 2
        let bytes = UnsafeRawBufferPointer(rebasing: payload[data..<(data &+ length)])
        header &+= Self.headerLength
        data &+= length
        return Block(payloadType: type, timestampOffset: offset, isPrimary: false, bytes: bytes)
    }

    /// Returns the length in an older header, which the caller has checked to be inside the payload.
    private static func length(_ payload: UnsafeRawBufferPointer, _ header: Int) -> Int {
        Int(payload[header &+ 2] & 3) << 8 | Int(payload[header &+ 3])
    }

    /// Writes the header of an older block. - Parameters: offset 0...16383 ticks, length 0...1023 bytes.
    public static func write(
        payloadType: UInt8, timestampOffset: Int, length: Int, into writer: inout ByteWriter
    ) throws(BufferFull) {
        precondition((0...farthestOffset).contains(timestampOffset) && (0...longestBlock).contains(length))
        try writer.write(uint8: 0x80 | payloadType)
        try writer.write(uint24: UInt32(timestampOffset << 10 | length))
    }

    /// Writes the header of the packet's own block, after all others.
    public static func write(payloadType: UInt8, into writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(uint8: payloadType & 0x7F)
    }
}
