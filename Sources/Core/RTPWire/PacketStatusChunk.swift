/// One packet status chunk of transport-wide feedback: draft-holmer-rmcat-transport-wide-cc-extensions-01 section
/// 3.1.2-4.
struct PacketStatusChunk {
    static let lost: UInt8 = 0
    static let small: UInt8 = 1
    static let large: UInt8 = 2

    static let maximumRun = 8_191
    static let oneBitCount = 14
    static let twoBitCount = 7

    //   0                   1
    //   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |0| S |       run length        |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |1|0|     14 symbols, 1 bit     |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |1|1|     7 symbols, 2 bits     |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    let word: UInt16

    init(_ word: UInt16) { self.word = word }

    /// The number of statuses in the chunk: 0...8191.
    var count: Int {
        if word & 0x8000 == 0 { return Int(word & 0x1FFF) }
        return word & 0x4000 == 0 ? Self.oneBitCount : Self.twoBitCount
    }

    /// The status at an index below `count`: 0...3.
    subscript(index: Int) -> UInt8 {
        if word & 0x8000 == 0 { return UInt8(truncatingIfNeeded: word >> 13 & 3) }
        if word & 0x4000 == 0 { return UInt8(truncatingIfNeeded: word >> UInt16(truncatingIfNeeded: 13 &- index) & 1) }
        return UInt8(truncatingIfNeeded: word >> UInt16(truncatingIfNeeded: 12 &- 2 &* index) & 3)
    }

    /// Returns how many statuses from an index on are "lost", in a run-length chunk; nil in another chunk, and at its
    /// end.
    func lostRun(from index: Int) -> Int? {
        word & 0xE000 == 0 && index < count ? count &- index : nil
    }

    /// Returns how many of the first statuses are "received", and the bytes of their deltas; nil if one is the reserved
    /// status.
    func deltaLength(ofFirst statuses: Int) -> (received: Int, bytes: Int)? {
        if word & 0x8000 == 0 {
            switch self[0] {
            case Self.lost: return (0, 0)
            case Self.small: return (statuses, statuses)
            case Self.large: return (statuses, statuses &* 2)
            default: return statuses == 0 ? (0, 0) : nil
            }
        }
        var received = 0
        var bytes = 0
        for index in 0..<min(statuses, count) {
            let symbol = self[index]
            if symbol > Self.large { return nil }
            received &+= symbol == Self.lost ? 0 : 1
            bytes &+= Int(symbol)
        }
        return (received, bytes)
    }
}

/// Packs statuses into chunks greedily: as long a run as possible, else 14 one-bit symbols, else 7 two-bit symbols.
struct TransportChunkPacker {
    /// Two bits for each of the first 14 statuses, the first in the lowest.
    private var symbols: UInt32 = 0
    private(set) var count = 0
    private var isUniform = true
    private var hasLarge = false

    private func symbol(_ index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: symbols >> UInt32(truncatingIfNeeded: index &* 2) & 3)
    }

    /// Whether another status fits into the chunk that is being packed.
    func canAdd(_ status: UInt8) -> Bool {
        if count < PacketStatusChunk.twoBitCount { return true }
        if count < PacketStatusChunk.oneBitCount, !hasLarge, status != PacketStatusChunk.large { return true }
        return count < PacketStatusChunk.maximumRun && isUniform && symbol(0) == status
    }

    /// - Precondition: `canAdd`.
    mutating func add(_ status: UInt8) {
        if count < PacketStatusChunk.oneBitCount { symbols |= UInt32(status) << UInt32(truncatingIfNeeded: count &* 2) }
        isUniform = isUniform && status == symbol(0)
        hasLarge = hasLarge || status == PacketStatusChunk.large
        count &+= 1
    }

    /// Removes and returns a full chunk; statuses that did not fit stay.
    mutating func takeFull() -> UInt16 {
        if isUniform || count == PacketStatusChunk.oneBitCount { return takeLast() }
        let word = twoBits(PacketStatusChunk.twoBitCount)
        let left = count &- PacketStatusChunk.twoBitCount
        let rest = symbols >> UInt32(PacketStatusChunk.twoBitCount &* 2)
        self = TransportChunkPacker()
        for index in 0..<max(left, 0) {
            add(UInt8(truncatingIfNeeded: rest >> UInt32(truncatingIfNeeded: index &* 2) & 3))
        }
        return word
    }

    /// Removes and returns all statuses as one chunk.
    mutating func takeLast() -> UInt16 {
        let word: UInt16
        if isUniform {
            word = UInt16(symbol(0)) << 13 | UInt16(truncatingIfNeeded: count)
        } else if count <= PacketStatusChunk.twoBitCount {
            word = twoBits(count)
        } else {
            var bits: UInt16 = 0x8000
            for index in 0..<count { bits |= UInt16(symbol(index)) << UInt16(truncatingIfNeeded: 13 &- index) }
            word = bits
        }
        self = TransportChunkPacker()
        return word
    }

    private func twoBits(_ count: Int) -> UInt16 {
        var bits: UInt16 = 0xC000
        for index in 0..<count { bits |= UInt16(symbol(index)) << UInt16(truncatingIfNeeded: 12 &- 2 &* index) }
        return bits
    }
}
