import MediaCore

/// Tracks the missing video packets, and decides when to send a NACK for each (compare libwebrtc's
/// `nack_requester.cc`).
///
/// Each request is sent up to three times, as a NACK can be lost: again after 10 ms, and 25 ms after that. The next
/// request follows after a round trip, 20 times at most. Capacity: 512 packets, ascending. A larger gap is not
/// requested, as only a key frame helps then.
struct NackGenerator {
    static let capacity = 512
    private static let mostTries: UInt8 = 20

    /// A missing packet and its requests.
    struct Missing {
        var sequence: Int64 = 0
        var since = MediaInstant(nanoseconds: 0)
        var next = MediaInstant(nanoseconds: 0)
        var firstAsked: MediaInstant?
        var asked: MediaInstant?
        var tries: UInt8 = 0
        /// When the last request is sent again, as it may have been lost.
        var repeatAt = MediaInstant.distantFuture
        var repeatCount: UInt8 = 0
    }

    private static let firstRepeatDelay = MediaDuration.milliseconds(10)
    private static let secondRepeatDelay = MediaDuration.milliseconds(25)

    private var entries = [Missing](repeating: Missing(), count: capacity)
    private(set) var count = 0
    /// How long a packet may be late before it is requested, by the reordering seen so far; 0 on paths that keep the
    /// order.
    private var reorderingTolerance = MediaDuration.zero
    private(set) var roundTrip = MediaDuration.milliseconds(60)
    private(set) var hasRoundTrip = false
    /// When a retransmission of a missing packet last arrived.
    private(set) var lastRepair: MediaInstant?
    /// When a retransmission of a packet that was not missing last arrived: the sender sends unrequested duplicates.
    private var lastDuplicate: MediaInstant?
    private var duplicatesInRow = 0
    private var earlyInRow = 0
    /// The round trip time by XR reports (RFC 3611); nil if the sender does not answer them.
    var reportedRoundTrip: MediaDuration?

    var isEmpty: Bool { count == 0 }
    /// The oldest missing packet.
    var first: Missing? { count == 0 ? nil : entries[0] }

    /// Adds the packets of a gap, `start` inclusive to `end` exclusive.
    /// - Returns: false if the gap exceeds the capacity.
    mutating func insert(from start: Int64, to end: Int64, now: MediaInstant) -> Bool {
        guard end > start else { return true }
        guard end &- start <= Int64(Self.capacity &- count) else { return false }
        var sequence = start
        while sequence < end {
            entries[count] = Missing(sequence: sequence, since: now, next: now + reorderingTolerance)
            count &+= 1
            sequence &+= 1
        }
        return true
    }

    /// Removes a packet that has arrived, and learns from it.
    /// - Parameter isRetransmission: it came by RTX.
    /// - Returns: nil if it was not missing.
    mutating func remove(_ sequence: Int64, isRetransmission: Bool, now: MediaInstant) -> Missing? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) / 2
            if entries[middle].sequence < sequence { low = middle &+ 1 } else { high = middle }
        }
        guard low < count, entries[low].sequence == sequence else {
            if isRetransmission { lastDuplicate = now }
            return nil
        }
        let entry = entries[low]
        for index in low..<(count &- 1) { entries[index] = entries[index &+ 1] }
        count &-= 1
        if isRetransmission { lastRepair = now }
        if isRetransmission, let asked = entry.asked, let first = entry.firstAsked {
            // A retransmission too soon after a second request answers the first one: the round trip is longer than
            // estimated.
            if entry.tries == 1 || !hasRoundTrip {
                if !isDuplicate(now - first, now: now) { learn(now - first) }
                earlyInRow = 0
            } else if (now - asked) * 2 < roundTrip {
                // It may also be a duplicate of that answer. If that repeats more than eight times, the estimate was
                // wrong.
                earlyInRow &+= 1
                if let reportedRoundTrip, roundTrip > reportedRoundTrip { return entry }
                if !sendsDuplicates(now) || earlyInRow > 8 { learn(now - first) }
            }
        } else if !isRetransmission {
            // The packet was only reordered, so the next missing one is given that time.
            reorderingTolerance = max(reorderingTolerance, min(now - entry.since + .milliseconds(1), .milliseconds(30)))
        }
        return entry
    }

    /// Whether a retransmission came too soon to answer a request, as the sender sends unrequested duplicates and the
    /// round trip is known to be longer.
    private mutating func isDuplicate(_ time: MediaDuration, now: MediaInstant) -> Bool {
        if let reportedRoundTrip, hasRoundTrip { return time * 4 < reportedRoundTrip * 3 }
        let isLikely = hasRoundTrip && sendsDuplicates(now) && time * 2 < roundTrip && time < .milliseconds(45)
        // After 16 of them in a row the round trip has become shorter.
        duplicatesInRow = isLikely && duplicatesInRow < 16 ? duplicatesInRow &+ 1 : 0
        return duplicatesInRow > 0
    }

    /// The sender has sent unrequested duplicates within the last 10 s.
    private func sendsDuplicates(_ now: MediaInstant) -> Bool { lastDuplicate.map { now - $0 < .seconds(10) } ?? false }

    /// Gives up packets that have been missing since `moment` or longer.
    mutating func forget(since moment: MediaInstant) {
        var gone = 0
        while gone < count, entries[gone].since <= moment { gone &+= 1 }
        if gone > 0 { forget(before: entries[gone &- 1].sequence &+ 1) }
    }

    /// Gives up packets before this one.
    mutating func forget(before sequence: Int64) {
        var gone = 0
        while gone < count, entries[gone].sequence < sequence { gone &+= 1 }
        guard gone > 0 else { return }
        for index in 0..<(count &- gone) { entries[index] = entries[index &+ gone] }
        count &-= gone
    }

    mutating func removeAll() { count = 0 }

    /// When the next request is due.
    var deadline: MediaInstant {
        var earliest = MediaInstant.distantFuture
        for index in 0..<count where entries[index].tries < Self.mostTries {
            earliest = min(earliest, entries[index].next, entries[index].repeatAt)
        }
        return earliest
    }

    /// Calls back with each packet to be requested, ascending, until the callback returns false because no more fit.
    mutating func takeDue(now: MediaInstant, _ body: (Int64) -> Bool) {
        let pause = max(roundTrip, .milliseconds(20))
        // Requests due within a millisecond share a NACK.
        let limit = now + .milliseconds(1)
        for index in 0..<count where entries[index].tries < Self.mostTries {
            guard min(entries[index].next, entries[index].repeatAt) <= limit else { continue }
            guard body(entries[index].sequence) else { return }
            guard entries[index].next <= limit else {
                let second = now + Self.secondRepeatDelay
                let isLast = entries[index].repeatCount > 0 || second + Self.firstRepeatDelay > entries[index].next
                entries[index].repeatAt = isLast ? .distantFuture : second
                entries[index].repeatCount = 1
                continue
            }
            entries[index].repeatAt = now + Self.firstRepeatDelay
            entries[index].repeatCount = 0
            entries[index].tries &+= 1
            if entries[index].firstAsked == nil { entries[index].firstAsked = now }
            entries[index].asked = now
            entries[index].next = now + pause + .milliseconds(5)
        }
        // The tolerance for reordering decays by 1/64 with each NACK.
        reorderingTolerance = MediaDuration(nanoseconds: reorderingTolerance.nanoseconds / 64 &* 63)
    }

    /// - Parameter time: from a request to its retransmission; smoothed with weight 1/8.
    mutating func learn(_ time: MediaDuration) {
        guard time >= .zero, time < .seconds(5) else { return }
        roundTrip =
            hasRoundTrip ? MediaDuration(nanoseconds: (roundTrip.nanoseconds &* 7 &+ time.nanoseconds) / 8) : time
        hasRoundTrip = true
    }
}
