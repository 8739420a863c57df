import MediaCore
import RTPWire

/// Stores the video packets of a sender by sequence number: those that wait to be sent, and sent ones for
/// retransmission (compare libwebrtc's `rtp_packet_history.cc`).
///
/// A packet lies in slot `sequence % capacity`. Overflow: a frame that does not fit beside what waits is refused.
///
/// The packets of a forwarded stream (``ForwardedVideo``) are kept by the source, once for all receivers. Their history
/// has entries only, which grow with the bitrate, and writes a packet anew each time.
struct PacketHistory {
    /// A packet that waits or was sent. A relay keeps thousands of viewers' entries: 72 bytes each.
    struct Entry: SequencedEntry {
        var sequence: Int64 = -1
        var firstSent = MediaInstant(nanoseconds: .min)
        /// Of the last transmission; distant past while it waits.
        var lastSent = MediaInstant(nanoseconds: .min)
        /// The transport-wide number of its first transmission.
        var transportSequence: Int64 = -1
        /// The transport-wide number of its last RTX packet; -1 for none.
        var rtxTransportSequence: Int64 = -1
        /// Of a forwarded packet: its position in the source.
        var position: Int64 = -1
        var timestamp = RTPTimestamp(0)
        private var lengths = Lengths()
        var layout = WrittenPacketLayout()
        var announcesMid = false
        /// What is subtracted from the picture ID of the source.
        var pictureIDShift: UInt16 = 0
        var retransmissionCount: UInt8 = 0
        /// How many unrequested duplicates to send.
        var duplicateCount: UInt8 = 0
        /// A retransmission waits to be sent.
        var isQueued = false
        /// What the receiver has reported as received.
        var received = Received.nothing

        /// Of the transmissions of a packet. Not all receivers use RTX packets.
        enum Received: UInt8 { case nothing, rtx, packet }

        var isAcknowledged: Bool { received == .packet }

        private struct Lengths {
            var plain: UInt16 = 0
            var protected: UInt16 = 0
        }

        init() {}

        init(sequence: Int64, length: Int = 0, layout: WrittenPacketLayout) {
            self.sequence = sequence
            self.layout = layout
            self.length = length
        }

        /// In bytes; packets are shorter than a datagram.
        var length: Int {
            get { Int(lengths.plain) }
            set { lengths.plain = UInt16(clamping: newValue) }
        }

        /// Length of the protected packet, if the slot holds that; 0: the slot holds the packet before protection.
        var protectedLength: Int {
            get { Int(lengths.protected) }
            set { lengths.protected = UInt16(clamping: newValue) }
        }
    }

    /// Nil until the protected form of a forwarded packet is stored.
    private var slab: PacketSlab?
    private let slotBytes: Int
    private(set) var writer: ForwardedPacketWriter?
    private var entries: [Entry]
    private var mask: Int64
    /// How many packets can wait.
    let capacity: Int
    /// The first packet that waits.
    private(set) var nextToSend: Int64
    /// The sequence number of the next packet to be appended.
    private(set) var nextToWrite: Int64
    /// Packets before this one are not retransmitted, as a key frame has replaced them.
    private(set) var oldestUseful: Int64
    /// Bytes of the packets that wait.
    private(set) var waitingBytes = 0
    /// Bytes of sent packets from `oldestCounted` on that are not acknowledged.
    private var unacknowledged = 0
    private var oldestCounted: Int64

    init(capacity: Int, slotBytes: Int, first: Int64) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a history of \(capacity) packets")
        slab = PacketSlab(capacity: capacity, slotBytes: slotBytes)
        self.slotBytes = slotBytes
        self.capacity = capacity
        entries = Array(repeating: Entry(), count: capacity)
        mask = Int64(capacity - 1)
        nextToSend = first
        nextToWrite = first
        oldestUseful = first
        oldestCounted = first
    }

    /// The history of a forwarded stream.
    init(capacity: Int, slotBytes: Int, first: Int64, writer: ForwardedPacketWriter) {
        let initial = min(Self.initialEntries, capacity)
        precondition(initial & (initial - 1) == 0, "a history of \(initial) packets")
        self.slotBytes = slotBytes
        self.capacity = capacity
        self.writer = writer
        entries = Array(repeating: Entry(), count: initial)
        mask = Int64(initial - 1)
        nextToSend = first
        nextToWrite = first
        oldestUseful = first
        oldestCounted = first
    }

    private static let initialEntries = 32
    /// A forwarded packet can be sent again for so long, if `capacity` allows it.
    private static let memory = MediaDuration.milliseconds(1_500)
    /// The number of packets whose protected form is kept, of a forwarded stream.
    private static let protectedCapacity = 512

    /// How many packets it holds at present.
    var count: Int { entries.count }
    /// No packet waits.
    var isEmpty: Bool { nextToSend == nextToWrite }
    var waitingCount: Int { Int(nextToWrite &- nextToSend) }
    /// How many packets can be appended.
    var room: Int { capacity &- waitingCount }
    var newestSent: Int64? { nextToSend > oldestUseful ? nextToSend &- 1 : nil }

    /// The slot of the next packet, unless the stream is forwarded.
    var nextSlot: UnsafeMutableRawBufferPointer {
        guard let slab else { preconditionFailure("a forwarded packet has no slot") }
        return slab[Int(nextToWrite & mask)]
    }

    /// Appends the packet in `nextSlot` to those that wait.
    mutating func commit(length: Int, layout: WrittenPacketLayout) {
        precondition(room > 0, "the history is full")
        forgetCounted(before: nextToWrite &- Int64(entries.count) &+ 1)
        entries[Int(nextToWrite & mask)] = Entry(sequence: nextToWrite, length: length, layout: layout)
        nextToWrite &+= 1
        waitingBytes &+= length
    }

    /// Appends a packet of the source to those that wait.
    /// - Parameter announcesMid: the packet carries the MID.
    mutating func append(
        _ packet: ForwardedVideo.Packet, timestamp: RTPTimestamp, pictureIDShift: UInt16, announcesMid: Bool,
        now: MediaInstant
    ) {
        precondition(room > 0, "the history is full")
        guard let writer else { preconditionFailure("the history of another stream") }
        makeRoom(now)
        var entry = Entry(
            sequence: nextToWrite,
            layout: writer.layout(announcesMid: announcesMid, hasColorSpace: packet.colorSpace != nil))
        entry.layout.isMarked = packet.isMarked
        entry.length = entry.layout.headerLength &+ packet.length
        entry.position = packet.position
        entry.timestamp = timestamp
        entry.pictureIDShift = pictureIDShift
        entry.announcesMid = announcesMid
        forgetCounted(before: nextToWrite &- Int64(entries.count) &+ 1)
        entries[Int(nextToWrite & mask)] = entry
        nextToWrite &+= 1
        waitingBytes &+= entry.length
    }

    private mutating func makeRoom(_ now: MediaInstant) {
        let first = nextToSend
        // The ring may be halved.
        if nextToWrite & mask == 0 { forgetCounted(before: nextToWrite &- Int64(entries.count / 2)) }
        entries.makeRoom(for: nextToWrite, limits: min(Self.initialEntries, capacity)...capacity) { entry in
            entry.sequence >= first || now - entry.firstSent < Self.memory
        }
        mask = Int64(entries.count - 1)
    }

    /// Adds the entries of the next packets.
    func addEntries(to list: inout PrefetchList, count: Int) {
        list.add(entries, from: Int(nextToWrite & mask), count: count)
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

    /// A packet that waits.
    func waiting(_ sequence: Int64) -> Entry { entries[Int(sequence & mask)] }

    /// The first packet that waits; nil if there is none.
    var next: Entry? { nextToSend < nextToWrite ? entries[Int(nextToSend & mask)] : nil }

    /// Copies a packet into the buffer.
    /// - Returns: false if the source has overwritten it.
    func copy(_ entry: Entry, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        if let writer { return writer.write(entry, into: buffer) }
        guard let bytes = bytes(entry) else { return false }
        buffer.copyMemory(from: bytes)
        return true
    }

    mutating func noteSent(now: MediaInstant, transportSequence: Int64 = -1) {
        let index = Int(nextToSend & mask)
        entries[index].firstSent = now
        entries[index].lastSent = now
        entries[index].transportSequence = transportSequence
        waitingBytes &-= entries[index].length
        unacknowledged &+= entries[index].length
        nextToSend &+= 1
    }

    // MARK: What the receiver has

    /// The receiver has reported a packet as received.
    /// - Parameters:
    ///   - video: the packet's RTP sequence number.
    ///   - transportSequence: of its first transmission, or of an RTX packet.
    ///   - trustsRTX: the receiver uses RTX packets.
    mutating func noteAcknowledged(_ video: SequenceNumber, transportSequence: Int64, trustsRTX: Bool) {
        let sequence = nextToSend &+ Int64(SequenceNumber(truncating: nextToSend).distance(to: video))
        guard sequence >= oldestCounted, sequence < nextToSend else { return }
        let index = Int(sequence & mask)
        let entry = entries[index]
        guard entry.sequence == sequence, !entry.isAcknowledged, transportSequence >= 0 else { return }
        if transportSequence > entry.transportSequence { entries[index].received = .rtx }
        guard
            entry.transportSequence == transportSequence
                || trustsRTX && entry.rtxTransportSequence == transportSequence
        else { return }
        entries[index].received = .packet
        unacknowledged &-= entry.length
    }

    /// The bytes of the packets that could be sent again and that the receiver has not reported as received: those of
    /// the last 10 s, from the last key frame on.
    mutating func unacknowledgedBytes(now: MediaInstant) -> Int {
        forgetCounted(before: oldestUseful)
        while oldestCounted < nextToSend, now - entries[Int(oldestCounted & mask)].firstSent > Self.longestWait {
            forgetCounted(before: oldestCounted &+ 1)
        }
        return max(unacknowledged, 0)
    }

    private static let longestWait = MediaDuration.seconds(10)

    /// Packets before this one do not count any more.
    private mutating func forgetCounted(before sequence: Int64) {
        let end = min(sequence, nextToSend)
        while oldestCounted < end {
            let entry = entries[Int(oldestCounted & mask)]
            if entry.sequence == oldestCounted, !entry.isAcknowledged { unacknowledged &-= entry.length }
            oldestCounted &+= 1
        }
    }

    /// A sent packet that can be retransmitted; nil if it was overwritten, replaced, or still waits.
    func sent(_ sequence: Int64) -> Entry? {
        guard sequence >= oldestUseful, sequence < nextToSend else { return nil }
        let entry = entries[Int(sequence & mask)]
        return entry.sequence == sequence ? entry : nil
    }

    /// Stores the protected form of a sent packet in place of the unprotected one.
    mutating func noteProtected(_ sequence: Int64, _ bytes: UnsafeRawBufferPointer) {
        let index = Int(sequence & mask)
        guard entries[index].sequence == sequence, bytes.count <= slotBytes else { return }
        let slab = slab ?? PacketSlab(capacity: Self.protectedCapacity, slotBytes: slotBytes)
        self.slab = slab
        slab[Int(sequence) & (slab.capacity - 1)].copyMemory(from: bytes)
        entries[index].protectedLength = bytes.count
    }

    /// The protected form of a sent packet; nil if it was overwritten, replaced, or not stored.
    func protected(_ sequence: Int64) -> (bytes: UnsafeRawBufferPointer, entry: Entry)? {
        guard let entry = sent(sequence), entry.protectedLength > 0, let slab,
            sequence >= nextToSend &- Int64(slab.capacity)
        else { return nil }
        let slot = slab[Int(sequence) & (slab.capacity - 1)]
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

    /// The packet before protection, valid until the next call; nil if the source has overwritten it.
    func bytes(_ entry: Entry) -> UnsafeRawBufferPointer? {
        if let writer { return writer.scratch(entry) }
        return slab.map { UnsafeRawBufferPointer(rebasing: $0[Int(entry.sequence & mask)][0..<entry.length]) }
    }
}
