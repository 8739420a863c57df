import MediaCore
import RTPWire

/// The sent packets by transport-wide sequence number (draft-holmer-rmcat-transport-wide-cc-extensions-01), in which
/// feedback is looked up; compare libwebrtc's `transport_feedback_adapter.cc`.
///
/// A ring of fixed size. Feedback on a packet that has left the ring is counted and ignored.
struct TransportSequenceHistory {
    /// A sent packet.
    struct Entry: SequencedEntry {
        var sequence: Int64 = -1
        var sent = MediaInstant(nanoseconds: 0)
        var bytes = 0
        var isAcknowledged = false
        var isLost = false
        /// Sent during a stall, so its status says nothing about the rate.
        var isDuringStall = false
        var isAudio = false
        /// The RTP sequence number of the video packet that it has, also as RTX; of no meaning for audio.
        var video = SequenceNumber(0)
        /// Sent twice with the same transport-wide number, so neither its arrival time nor its loss can be attributed.
        var isRetransmitted = false
    }

    private var entries: [Entry]
    private var mask: Int64
    /// The most packets that the ring can hold.
    let capacity: Int
    private let grows: Bool
    private(set) var nextSequence: Int64
    private(set) var highestAcknowledged: Int64?
    private let first: Int64
    /// Packets below this number have been reported, or their feedback was given up as lost.
    private var reported: Int64 = .min
    /// The oldest packet sent within the last 10 s. Never decreases.
    private var oldestRecent: Int64
    /// Unwraps the 24-bit reference time of feedback messages.
    private var lastReference: Int64?

    /// - Parameters:
    ///   - capacity: a power of two.
    ///   - grows: it begins small, and grows as long as packets would leave it within 2 s.
    init(capacity: Int, grows: Bool = false, first: Int64) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a register of \(capacity) packets")
        self.capacity = capacity
        self.grows = grows
        let count = grows ? min(Self.initialCount, capacity) : capacity
        entries = Array(repeating: Entry(), count: count)
        mask = Int64(count - 1)
        nextSequence = first
        self.first = first
        oldestRecent = first
    }

    /// Records a packet that is about to be sent.
    /// - Parameter video: see `Entry`.
    /// - Returns: the transport-wide sequence number for it.
    mutating func note(
        bytes: Int, now: MediaInstant, isDuringStall: Bool, isAudio: Bool = false,
        video: SequenceNumber = SequenceNumber(0)
    ) -> SequenceNumber {
        let sequence = nextSequence
        if grows { makeRoom(now) }
        entries[Int(sequence & mask)] = Entry(
            sequence: sequence, sent: now, bytes: bytes, isDuringStall: isDuringStall, isAudio: isAudio,
            video: video)
        nextSequence &+= 1
        return SequenceNumber(truncating: sequence)
    }

    private static let initialCount = 64
    /// Feedback comes within this time, unless the path is broken.
    private static let useful = MediaDuration.seconds(2)

    private mutating func makeRoom(_ now: MediaInstant) {
        entries.makeRoom(for: nextSequence, limits: min(Self.initialCount, capacity)...capacity) { entry in
            now - entry.sent < Self.useful
        }
        mask = Int64(entries.count - 1)
    }

    /// Adds the entries of the next packets of a usual frame.
    func addMemory(to list: inout PrefetchList) { list.add(entries, from: Int(nextSequence & mask), count: 8) }

    /// Records that a packet is sent again with the same bytes.
    mutating func noteRetransmitted(_ sequence: Int64) {
        guard sequence >= 0 else { return }
        let index = Int(sequence & mask)
        if entries[index].sequence == sequence { entries[index].isRetransmitted = true }
    }

    /// The send time of the oldest packet above the highest one acknowledged; nil if there is none.
    var oldestUnanswered: MediaInstant? {
        let candidate = max((highestAcknowledged ?? first &- 1) &+ 1, nextSequence &- Int64(entries.count))
        guard candidate < nextSequence else { return nil }
        return entries[Int(candidate & mask)].sent
    }

    /// Feedback on older packets is ignored, as it says nothing about the present path.
    private static let memory = MediaDuration.seconds(10)

    /// The number of packets that the ring holds at present.
    var count: Int { entries.count }

    /// The packets for which feedback is used: still in the ring and sent within the last 10 s.
    mutating func recent(now: MediaInstant) -> Range<Int64> {
        oldestRecent = max(oldestRecent, nextSequence &- Int64(entries.count))
        while oldestRecent < nextSequence, now - entries[Int(oldestRecent & mask)].sent > Self.memory {
            oldestRecent &+= 1
        }
        return oldestRecent..<nextSequence
    }

    /// Unwraps a number from feedback next to the newest packet. The packet may never have been sent.
    func unwrapped(_ number: SequenceNumber) -> Int64 {
        nextSequence &- 1 &+ Int64(SequenceNumber(truncating: nextSequence &- 1).distance(to: number))
    }

    /// Unwraps a number from feedback; nil if the packet was never sent or has left the ring.
    func knownSequence(for number: SequenceNumber) -> Int64? {
        let sequence = unwrapped(number)
        guard sequence >= first, sequence < nextSequence, known(sequence) != nil else {
            return nil
        }
        return sequence
    }

    func isAcknowledged(_ sequence: Int64) -> Bool { known(sequence)?.isAcknowledged ?? false }

    /// The receiver has reported that the packet has not arrived.
    func isLost(_ sequence: Int64) -> Bool { known(sequence).map { $0.isLost && !$0.isAcknowledged } ?? false }

    /// Nil if the packet was never sent or has left the ring.
    private func known(_ sequence: Int64) -> Entry? {
        guard sequence >= 0 else { return nil }
        let entry = entries[Int(sequence & mask)]
        return entry.sequence == sequence ? entry : nil
    }

    /// Bytes of packets between the last reported one and `sequence` that no feedback covered, because a feedback
    /// message was lost. Each packet is counted once.
    mutating func takeUnreported(before sequence: Int64) -> Int {
        let begin = max(reported, nextSequence &- Int64(entries.count), first)
        reported = max(reported, sequence)
        var bytes = 0
        var next = begin
        while next < sequence {
            let entry = entries[Int(next & mask)]
            if entry.sequence == next, !entry.isAcknowledged, !entry.isLost { bytes &+= entry.bytes }
            next &+= 1
        }
        return bytes
    }

    /// Records that feedback covered this packet.
    mutating func noteReported(_ sequence: Int64) { reported = max(reported, sequence &+ 1) }

    /// What a packet status changed.
    enum StatusChange {
        case arrived(Entry)
        /// The packet arrived after it had been reported as lost.
        case arrivedLate(Entry)
        case lost(Entry)
        case nothing
    }

    /// Takes in the status of one packet. Each change is returned only once.
    mutating func take(_ sequence: Int64, hasArrived: Bool) -> StatusChange {
        let index = Int(sequence & mask)
        let entry = entries[index]
        if entry.isAcknowledged { return .nothing }
        if hasArrived {
            entries[index].isAcknowledged = true
            if sequence > highestAcknowledged ?? .min { highestAcknowledged = sequence }
            return entry.isLost ? .arrivedLate(entry) : .arrived(entry)
        }
        if entry.isLost { return .nothing }
        entries[index].isLost = true
        return .lost(entry)
    }

    /// The offset to add to the arrival times of a feedback message, so that they continue those of the last message
    /// across a wrap of the reference time (24 bits of 64 ms).
    mutating func clockOffset(_ reference: Int) -> MediaDuration {
        let extended: Int64
        if let last = lastReference {
            let step = (Int32(truncatingIfNeeded: Int64(reference) &- last) << 8) >> 8
            extended = last &+ Int64(step)
        } else {
            extended = Int64(reference)
        }
        lastReference = extended
        return .milliseconds(64) * (extended &- Int64(reference))
    }
}
