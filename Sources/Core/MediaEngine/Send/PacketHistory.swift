import MediaCore
import RTPWire

/// Stores the video packets of a sender by sequence number: those that wait to be sent, and sent ones for
/// retransmission (compare libwebrtc's `rtp_packet_history.cc`).
///
/// A packet lies in slot `sequence % capacity`. Overflow: a frame that does not fit beside what waits is refused.
struct PacketHistory {
    /// A packet that waits or was sent.
    struct Entry {
        var sequence: Int64 = -1
        var length = 0
        var layout = RTPPacketLayout()
        var firstSent = MediaInstant(nanoseconds: .min)
        /// Of the last transmission; distant past while it waits.
        var lastSent = MediaInstant(nanoseconds: .min)
        var retransmissionCount: UInt8 = 0
        /// How many unrequested duplicates to send.
        var duplicateCount: UInt8 = 0
        /// A retransmission waits to be sent.
        var isQueued = false
        /// Length of the protected packet, if the slot holds that; 0: the slot holds the packet before protection.
        var protectedLength = 0
        /// The transport-wide number of its first transmission.
        var transportSequence: Int64 = -1
        /// The transport-wide number of its last RTX packet; -1 for none.
        var rtxTransportSequence: Int64 = -1
    }

    private let slab: PacketSlab
    private var entries: [Entry]
    private let mask: Int64
    /// The first packet that waits.
    private(set) var nextToSend: Int64
    /// The sequence number of the next packet to be appended.
    private(set) var nextToWrite: Int64
    /// Packets before this one are not retransmitted, as a key frame has replaced them.
    private(set) var oldestUseful: Int64
    /// Bytes of the packets that wait.
    private(set) var waitingBytes = 0

    init(capacity: Int, slotBytes: Int, first: Int64) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a history of \(capacity) packets")
        slab = PacketSlab(capacity: capacity, slotBytes: slotBytes)
        entries = Array(repeating: Entry(), count: capacity)
        mask = Int64(capacity - 1)
        nextToSend = first
        nextToWrite = first
        oldestUseful = first
    }

    var capacity: Int { entries.count }
    /// No packet waits.
    var isEmpty: Bool { nextToSend == nextToWrite }
    var waitingCount: Int { Int(nextToWrite &- nextToSend) }
    /// How many packets can be appended.
    var room: Int { capacity &- waitingCount }
    var newestSent: Int64? { nextToSend > oldestUseful ? nextToSend &- 1 : nil }

    /// The slot of the next packet.
    var nextSlot: UnsafeMutableRawBufferPointer { slab[Int(nextToWrite & mask)] }

    /// Appends the packet in `nextSlot` to those that wait.
    mutating func commit(length: Int, layout: RTPPacketLayout) {
        precondition(room > 0, "the history is full")
        entries[Int(nextToWrite & mask)] = Entry(sequence: nextToWrite, length: length, layout: layout)
        nextToWrite &+= 1
        waitingBytes &+= length
    }

    /// Drops all packets that wait.
    mutating func dropWaiting() {
        while nextToWrite > nextToSend {
            nextToWrite &-= 1
            entries[Int(nextToWrite & mask)].sequence = -1
        }
        waitingBytes = 0
    }

    /// The next packet begins a key frame; earlier packets are not retransmitted any more.
    mutating func beginKeyframe() { oldestUseful = nextToWrite }

    /// The first packet that waits; nil if there is none.
    var next: (bytes: UnsafeRawBufferPointer, entry: Entry)? {
        guard nextToSend < nextToWrite else { return nil }
        let entry = entries[Int(nextToSend & mask)]
        return (bytes(entry), entry)
    }

    mutating func noteSent(now: MediaInstant, transportSequence: Int64 = -1) {
        let index = Int(nextToSend & mask)
        entries[index].firstSent = now
        entries[index].lastSent = now
        entries[index].transportSequence = transportSequence
        waitingBytes &-= entries[index].length
        nextToSend &+= 1
    }

    /// A sent packet that can be retransmitted; nil if it was overwritten, replaced, or still waits.
    func sent(_ sequence: Int64) -> (bytes: UnsafeRawBufferPointer, entry: Entry)? {
        guard sequence >= oldestUseful, sequence < nextToSend else { return nil }
        let entry = entries[Int(sequence & mask)]
        guard entry.sequence == sequence else { return nil }
        return (bytes(entry), entry)
    }

    /// Stores the protected form of a sent packet in place of the unprotected one.
    mutating func noteProtected(_ sequence: Int64, _ bytes: UnsafeRawBufferPointer) {
        let index = Int(sequence & mask)
        guard entries[index].sequence == sequence, bytes.count <= slab.slotBytes else { return }
        slab[index].copyMemory(from: bytes)
        entries[index].protectedLength = bytes.count
    }

    /// The protected form of a sent packet; nil if it was overwritten, replaced, or not stored.
    func protected(_ sequence: Int64) -> (bytes: UnsafeRawBufferPointer, entry: Entry)? {
        guard let (_, entry) = sent(sequence), entry.protectedLength > 0 else { return nil }
        let slot = slab[Int(sequence & mask)]
        return (UnsafeRawBufferPointer(rebasing: slot[0..<entry.protectedLength]), entry)
    }

    /// Sets the number of unrequested duplicates for all waiting packets from `start` on.
    mutating func setDuplicateCount(_ count: Int, from start: Int64) {
        var sequence = max(start, nextToSend)
        while sequence < nextToWrite {
            entries[Int(sequence & mask)].duplicateCount = UInt8(clamping: count)
            sequence &+= 1
        }
    }

    mutating func noteQueued(_ sequence: Int64, _ isQueued: Bool) {
        let index = Int(sequence & mask)
        if entries[index].sequence == sequence { entries[index].isQueued = isQueued }
    }

    mutating func noteRetransmitted(_ sequence: Int64, now: MediaInstant) {
        let index = Int(sequence & mask)
        entries[index].lastSent = now
        if entries[index].retransmissionCount < .max { entries[index].retransmissionCount &+= 1 }
    }

    /// - Parameter transportSequence: the transport-wide number of its RTX packet; -1 to forget it.
    mutating func noteRTXSequence(_ sequence: Int64, transportSequence: Int64) {
        entries[Int(sequence & mask)].rtxTransportSequence = transportSequence
    }

    private func bytes(_ entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: slab[Int(entry.sequence & mask)][0..<entry.length])
    }
}
