import MediaCore

/// The video packets that are missing, and when to ask for them again.
///
/// Capacity: 512 packets, in the order of their numbers. A gap that does not fit is not asked for: only a key frame helps then.
struct NackGenerator {
    static let capacity = 512
    private static let mostTries: UInt8 = 20

    struct Missing {
        var sequence: Int64 = 0
        var since = MediaInstant(nanoseconds: 0)
        var next = MediaInstant(nanoseconds: 0)
        var firstAsked: MediaInstant?
        var asked: MediaInstant?
        var tries: UInt8 = 0
        /// When the last request is said again, as it may be lost.
        var echo = MediaInstant.distantFuture
        var echoes: UInt8 = 0
    }

    private static let echoPause = MediaDuration.milliseconds(10)
    private static let secondEchoPause = MediaDuration.milliseconds(25)

    private var entries = [Missing](repeating: Missing(), count: capacity)
    private(set) var count = 0
    /// How long a packet is given to be only late, out of what was seen; 0 on paths that keep the order.
    private var patience = MediaDuration.zero
    private(set) var roundTrip = MediaDuration.milliseconds(60)
    private(set) var hasRoundTrip = false
    /// When a repetition came last.
    private(set) var lastRepair: MediaInstant?
    /// When a repetition of something that was not missing came last: the other side repeats unasked.
    private var lastUnasked: MediaInstant?
    private var unaskedInRow = 0
    private var earlyInRow = 0
    /// The round trip time by reports; nil if the other side does not answer those.
    var told: MediaDuration?

    var isEmpty: Bool { count == 0 }
    /// The oldest missing packet.
    var first: Missing? { count == 0 ? nil : entries[0] }

    /// - Returns: false if the gap is too large to be filled.
    mutating func insert(from start: Int64, to end: Int64, now: MediaInstant) -> Bool {
        guard end > start else { return true }
        guard end &- start <= Int64(Self.capacity &- count) else { return false }
        var sequence = start
        while sequence < end {
            entries[count] = Missing(sequence: sequence, since: now, next: now + patience)
            count &+= 1
            sequence &+= 1
        }
        return true
    }

    /// The packet has come.
    /// - Returns: nil if it was not missing.
    mutating func remove(_ sequence: Int64, isRepeat: Bool, now: MediaInstant) -> Missing? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) / 2
            if entries[middle].sequence < sequence { low = middle &+ 1 } else { high = middle }
        }
        guard low < count, entries[low].sequence == sequence else {
            if isRepeat { lastUnasked = now }
            return nil
        }
        let entry = entries[low]
        for index in low..<(count &- 1) { entries[index] = entries[index &+ 1] }
        count &-= 1
        if isRepeat { lastRepair = now }
        if isRepeat, let asked = entry.asked, let first = entry.firstAsked {
            // An answer that follows a second request too closely belongs to the first: the way is longer than thought.
            if entry.tries == 1 || !hasRoundTrip {
                if !isUnasked(now - first, now: now) { learn(now - first) }
                earlyInRow = 0
            } else if (now - asked) * 2 < roundTrip {
                // Or it is a repetition of that answer, unless it is always so.
                earlyInRow &+= 1
                if let told, roundTrip > told { return entry }
                if !repeatsUnasked(now) || earlyInRow > 8 { learn(now - first) }
            }
        } else if !isRepeat {
            // It was only late: next time wait a little.
            patience = max(patience, min(now - entry.since + .milliseconds(1), .milliseconds(30)))
        }
        return entry
    }

    /// What came so soon is no answer, if the other side repeats unasked and the way is known to be longer.
    private mutating func isUnasked(_ time: MediaDuration, now: MediaInstant) -> Bool {
        if let told, hasRoundTrip { return time * 4 < told * 3 }
        let isLikely = hasRoundTrip && repeatsUnasked(now) && time * 2 < roundTrip && time < .milliseconds(45)
        // A way that became shorter shows in time.
        unaskedInRow = isLikely && unaskedInRow < 16 ? unaskedInRow &+ 1 : 0
        return unaskedInRow > 0
    }

    private func repeatsUnasked(_ now: MediaInstant) -> Bool { lastUnasked.map { now - $0 < .seconds(10) } ?? false }

    /// Packets that have been missing since then or longer are given up.
    mutating func forget(since moment: MediaInstant) {
        var gone = 0
        while gone < count, entries[gone].since <= moment { gone &+= 1 }
        if gone > 0 { forget(before: entries[gone &- 1].sequence &+ 1) }
    }

    /// Nothing before this packet matters any more.
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
            earliest = min(earliest, entries[index].next, entries[index].echo)
        }
        return earliest
    }

    /// Calls back with each packet to ask for, in ascending order, until the callback says that no more fit.
    mutating func takeDue(now: MediaInstant, _ body: (Int64) -> Bool) {
        let pause = max(roundTrip, .milliseconds(20))
        // What is due within a millisecond goes along.
        let limit = now + .milliseconds(1)
        for index in 0..<count where entries[index].tries < Self.mostTries {
            guard min(entries[index].next, entries[index].echo) <= limit else { continue }
            guard body(entries[index].sequence) else { return }
            guard entries[index].next <= limit else {
                let second = now + Self.secondEchoPause
                let isLast = entries[index].echoes > 0 || second + Self.echoPause > entries[index].next
                entries[index].echo = isLast ? .distantFuture : second
                entries[index].echoes = 1
                continue
            }
            entries[index].echo = now + Self.echoPause
            entries[index].echoes = 0
            entries[index].tries &+= 1
            if entries[index].firstAsked == nil { entries[index].firstAsked = now }
            entries[index].asked = now
            entries[index].next = now + pause + .milliseconds(5)
        }
        // What was learnt about lateness is forgotten slowly.
        patience = MediaDuration(nanoseconds: patience.nanoseconds / 64 &* 63)
    }

    /// - Parameter time: from a request to its answer.
    mutating func learn(_ time: MediaDuration) {
        guard time >= .zero, time < .seconds(5) else { return }
        roundTrip =
            hasRoundTrip ? MediaDuration(nanoseconds: (roundTrip.nanoseconds &* 7 &+ time.nanoseconds) / 8) : time
        hasRoundTrip = true
    }
}
