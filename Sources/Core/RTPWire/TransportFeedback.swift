public import MediaCore

/// The arrival times of a transport's packets: draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1.
///
/// All of it is checked when parsed, so iterating cannot fail. It gives one status for each packet from `base` on, at
/// most 65,535 in any case. Borrows the bytes. Allocates: never.
public struct TransportFeedback: Sequence {
    static let format: UInt8 = 15
    /// The bytes between the RTCP header and the chunks.
    static let fixedLength = 16
    static let deltaNanoseconds: Int64 = 250_000
    static let deltasPerReference: Int64 = 256

    public let senderSSRC: UInt32
    public let mediaSSRC: UInt32
    /// The sequence number of the first status.
    public let base: SequenceNumber
    /// The number of statuses, received and lost.
    public let statusCount: Int
    /// In units of 64 ms of the receiver's clock, 24 bits, signed; wraps every 12 days.
    public let referenceTime: Int
    /// Counts the feedback packets; a gap means that feedback was lost.
    public let feedbackCount: UInt8
    /// The number of statuses that are "received".
    public let receivedCount: Int
    private let chunks: UnsafeRawBufferPointer
    private let deltas: UnsafeRawBufferPointer

    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |      base sequence number     |      packet status count      |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |                 reference time                | fb pkt. count |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |          packet chunks, 16 bits each          ...             |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |          deltas, 8 or 16 bits each, padding to the word       |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    init(_ body: RTCPBody) throws(RTPMalformed) {
        var reader = ByteReader(body.bytes)
        (senderSSRC, mediaSSRC) = try reader.feedbackSources()
        guard reader.remaining >= 8 else { throw RTPMalformed(.transportFeedback) }
        base = SequenceNumber(try reader.uint16())
        statusCount = Int(try reader.uint16())
        referenceTime = Int(Int32(bitPattern: try reader.uint24() << 8) >> 8)
        feedbackCount = try reader.uint8()

        let chunkStart = reader.position
        var left = statusCount
        var received = 0
        var deltaLength = 0
        while left > 0 {
            guard let word = try? reader.uint16() else { throw RTPMalformed(.transportFeedback) }
            let chunk = PacketStatusChunk(word)
            let statuses = Swift.min(left, chunk.count)
            // A run of 0 covers nothing; the number of such runs is limited by the packet's length.
            left &-= statuses
            guard let sizes = chunk.deltaLength(ofFirst: statuses) else { throw RTPMalformed(.transportFeedback) }
            received &+= sizes.received
            deltaLength &+= sizes.bytes
        }
        receivedCount = received
        chunks = body.bytes.part(chunkStart, reader.position &- chunkStart)
        guard deltaLength <= reader.remaining else { throw RTPMalformed(.transportFeedback) }
        deltas = try reader.bytes(deltaLength)
    }

    /// The status of one packet.
    public struct Status: Hashable, Sendable {
        public let sequence: SequenceNumber
        /// The arrival on the receiver's clock, relative to its reference time 0, in steps of 250 us; nil: the packet
        /// did not arrive.
        public let arrival: MediaDuration?
    }

    public func makeIterator() -> Iterator {
        Iterator(
            left: statusCount, sequence: base, ticks: Int64(referenceTime) &* Self.deltasPerReference,
            chunks: ByteReader(chunks), deltas: ByteReader(deltas))
    }

    public struct Iterator: IteratorProtocol {
        var left: Int
        var sequence: SequenceNumber
        var ticks: Int64
        var chunks: ByteReader
        var deltas: ByteReader
        private var chunk = PacketStatusChunk(0)
        private var index = 0

        init(left: Int, sequence: SequenceNumber, ticks: Int64, chunks: ByteReader, deltas: ByteReader) {
            self.left = left
            self.sequence = sequence
            self.ticks = ticks
            self.chunks = chunks
            self.deltas = deltas
        }

        /// Skips so many statuses. A run of lost ones costs as much as a single one.
        public mutating func skip(_ count: Int) {
            var rest = Swift.min(count, left)
            while rest > 0 {
                if let lost = chunk.lostRun(from: index) {
                    let statuses = Swift.min(lost, rest)
                    index &+= statuses
                    left &-= statuses
                    sequence = sequence.advanced(by: statuses)
                    rest &-= statuses
                } else {
                    guard next() != nil else { return }
                    rest &-= 1
                }
            }
        }

        public mutating func next() -> Status? {
            guard left > 0 else { return nil }
            while index >= chunk.count {
                guard let word = try? chunks.uint16() else { return nil }
                chunk = PacketStatusChunk(word)
                index = 0
            }
            let symbol = chunk[index]
            let number = sequence
            index &+= 1
            left &-= 1
            sequence = sequence.next
            switch symbol {
            case PacketStatusChunk.small: ticks &+= (try? deltas.uint8()).map { Int64($0) } ?? 0
            case PacketStatusChunk.large: ticks &+= (try? deltas.uint16()).map { Int64(Int16(bitPattern: $0)) } ?? 0
            default: return Status(sequence: number, arrival: nil)
            }
            return Status(
                sequence: number,
                arrival: MediaDuration(nanoseconds: ticks &* TransportFeedback.deltaNanoseconds))
        }
    }
}
