import MediaCore
import RTPWire

/// The newest Opus packets of one stream, by their positions in it: for the packets that carry them, and for later ones
/// that carry them again (RED). A ring; its oldest packets are overwritten.
/// - Isolation: confined to one thread, but several may read while nothing is stored. Allocates in `init` and
///   `enlarge`.
final class OpusPacketRing {
    struct Packet {
        /// In the stream: consecutive, also for packets that are missing.
        var position: Int64 = -1
        var timestamp = RTPTimestamp(0)
        var length = 0
        /// At 48 kHz.
        var samplesPerChannel = 0
        /// The first of a talk spurt (RFC 3551 section 4.1).
        var isMarked = false

        /// The timestamp of what follows without a pause.
        var endTimestamp: RTPTimestamp { timestamp.advanced(by: samplesPerChannel) }
    }

    let capacity: Int
    private var slab: PacketSlab
    private var packets: [Packet]
    /// The positions of the packets in the order in which they were stored.
    private var order: [Int64]
    private let mask: Int64
    /// How many packets were stored.
    private(set) var end: Int64 = 0
    /// The packet with the highest position; nil before the first.
    private(set) var newest: Packet?

    /// - Parameters:
    ///   - capacity: in packets; a power of two.
    ///   - slotBytes: the longest packet.
    init(capacity: Int, slotBytes: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a ring of \(capacity) packets")
        self.capacity = capacity
        slab = PacketSlab(capacity: capacity, slotBytes: slotBytes)
        packets = Array(repeating: Packet(), count: capacity)
        order = Array(repeating: -1, count: capacity)
        mask = Int64(capacity - 1)
    }

    /// -1 before the first packet.
    var newestPosition: Int64 { newest?.position ?? -1 }

    /// The longest packet in bytes.
    var slotBytes: Int { slab.slotBytes }

    /// Makes room for longer packets.
    func enlarge(to slotBytes: Int) {
        let larger = PacketSlab(capacity: capacity, slotBytes: slotBytes)
        for index in 0..<capacity { larger[index].copyMemory(from: UnsafeRawBufferPointer(slab[index])) }
        slab = larger
    }

    /// Whether a packet of this position is missing, and not too old for the ring.
    func lacks(_ position: Int64) -> Bool {
        guard position >= 0, position > newestPosition &- Int64(capacity) else { return false }
        return packets[Int(position & mask)].position != position
    }

    /// Stores a packet that the ring lacks.
    /// - Parameter bytes: at most `slotBytes`; copied.
    func store(_ bytes: UnsafeRawBufferPointer, at position: Int64, timestamp: RTPTimestamp, isMarked: Bool) {
        let index = Int(position & mask)
        slab[index].copyMemory(from: bytes)
        packets[index] = Packet(
            position: position, timestamp: timestamp, length: bytes.count,
            samplesPerChannel: OpusPacket.samplesPerChannel(bytes), isMarked: isMarked)
        order[Int(end & mask)] = position
        end &+= 1
        if position > newestPosition { newest = packets[index] }
    }

    /// The packet of a position; nil if it is missing or was overwritten.
    func packet(_ position: Int64) -> Packet? {
        guard position >= 0 else { return nil }
        let packet = packets[Int(position & mask)]
        return packet.position == position ? packet : nil
    }

    /// The packet that was stored when there were so many; nil if it was overwritten.
    func packet(stored number: Int64) -> Packet? {
        number >= end &- Int64(capacity) && number >= 0 && number < end ? packet(order[Int(number & mask)]) : nil
    }

    /// The bytes of a packet, valid until the next one is stored.
    func bytes(_ packet: Packet) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: slab[Int(packet.position & mask)][..<packet.length])
    }
}
