import MediaCore
import RTPWire

/// What left, by transport-wide sequence number: the other half of transport-wide feedback.
///
/// A ring of fixed size; feedback about a packet that has fallen out of it is counted and ignored.
struct SentPacketHistory {
    struct Entry {
        var sequence: Int64 = -1
        var sent = MediaInstant(nanoseconds: 0)
        var bytes = 0
        var isAcknowledged = false
        var isLost = false
        /// Sent while nothing came back: says nothing about the rate.
        var isDuringStall = false
        var isSound = false
        /// It left again with the same number: when it arrived says nothing about the path, and whether it did, nothing about losses.
        var isRepeated = false
    }

    private var entries: [Entry]
    private let mask: Int64
    private(set) var nextSequence: Int64
    private(set) var highestAcknowledged: Int64?
    private let first: Int64
    /// Everything before this has been spoken of or given up.
    private var reported: Int64 = .min
    /// The oldest packet that left within the last 10 s. Moves only forwards.
    private var oldestRecent: Int64
    /// Unwraps the 24 bits of the other side's clock.
    private var lastReference: Int64?

    init(capacity: Int, first: Int64) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a register of \(capacity) packets")
        entries = Array(repeating: Entry(), count: capacity)
        mask = Int64(capacity - 1)
        nextSequence = first
        self.first = first
        oldestRecent = first
    }

    /// - Returns: the number that the packet is to carry.
    mutating func note(
        bytes: Int, now: MediaInstant, isDuringStall: Bool, isSound: Bool = false
    ) -> SequenceNumber {
        let sequence = nextSequence
        entries[Int(sequence & mask)] = Entry(
            sequence: sequence, sent: now, bytes: bytes, isDuringStall: isDuringStall, isSound: isSound)
        nextSequence &+= 1
        return SequenceNumber(truncating: sequence)
    }

    /// A packet leaves once more as it was.
    mutating func noteRepeated(_ sequence: Int64) {
        guard sequence >= 0 else { return }
        let index = Int(sequence & mask)
        if entries[index].sequence == sequence { entries[index].isRepeated = true }
    }

    /// When the oldest packet left of those behind the highest that has arrived; nil if there is none.
    var oldestUnanswered: MediaInstant? {
        let candidate = max((highestAcknowledged ?? first &- 1) &+ 1, nextSequence &- Int64(entries.count))
        guard candidate < nextSequence else { return nil }
        return entries[Int(candidate & mask)].sent
    }

    /// Feedback on what left longer ago says nothing about the path as it is.
    private static let memory = MediaDuration.seconds(10)

    /// So many packets are remembered.
    var capacity: Int { entries.count }

    /// The packets of which feedback is of use: remembered, and sent within the last 10 s.
    mutating func recent(now: MediaInstant) -> Range<Int64> {
        oldestRecent = max(oldestRecent, nextSequence &- Int64(entries.count))
        while oldestRecent < nextSequence, now - entries[Int(oldestRecent & mask)].sent > Self.memory {
            oldestRecent &+= 1
        }
        return oldestRecent..<nextSequence
    }

    /// A number out of feedback, unwrapped next to the newest packet. It may never have been sent.
    func unwrapped(_ number: SequenceNumber) -> Int64 {
        nextSequence &- 1 &+ Int64(SequenceNumber(truncating: nextSequence &- 1).distance(to: number))
    }

    /// The number that a status speaks of; nil if it was never sent or is forgotten.
    func extended(_ number: SequenceNumber) -> Int64? {
        let sequence = unwrapped(number)
        guard sequence >= first, sequence < nextSequence, entries[Int(sequence & mask)].sequence == sequence else {
            return nil
        }
        return sequence
    }

    func isAcknowledged(_ sequence: Int64) -> Bool {
        guard sequence >= 0 else { return false }
        let entry = entries[Int(sequence & mask)]
        return entry.sequence == sequence && entry.isAcknowledged
    }

    /// Bytes of packets before `sequence`, and behind the last that a status spoke of, that nothing has been heard of: their feedback was
    /// lost. Each is counted once.
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

    /// A status has spoken of this one.
    mutating func noteReported(_ sequence: Int64) { reported = max(reported, sequence &+ 1) }

    enum News {
        case arrived(Entry)
        /// The same, but it had been counted as lost.
        case arrivedLate(Entry)
        case lost(Entry)
        case nothing
    }

    /// Takes one status in; each packet's fate is news only once.
    mutating func take(_ sequence: Int64, hasArrived: Bool) -> News {
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

    /// What has to be added to the arrival times of a feedback packet, so that they go on where the last one's were.
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
