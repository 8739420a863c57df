/// An entry of a ring in which a packet lies in slot `sequence % count`.
protocol SequencedEntry {
    /// Negative: the slot is empty.
    var sequence: Int64 { get }

    /// An empty slot.
    init()
}

extension Array where Element: SequencedEntry {
    /// Doubles the ring if the entry that `next` overwrites is still of use. Halves it if an eighth is not of use even
    /// of what would be left, as after the key frame that a newcomer to a relay gets at once.
    /// - Parameters:
    ///   - next: the sequence number of the next entry.
    ///   - limits: the number of entries; powers of two, as the present number is.
    mutating func makeRoom(for next: Int64, limits: ClosedRange<Int>, isUseful: (Element) -> Bool) {
        if hasUseful(next &- Int64(count), isUseful) {
            if count < limits.upperBound { resize(to: count * 2, before: next) }
        } else if next & Int64(count - 1) == 0, count > limits.lowerBound {
            let kept = count / 2
            if !hasUseful(next &- Int64(kept / 8 * 7), isUseful) { resize(to: kept, before: next) }
        }
    }

    private func hasUseful(_ sequence: Int64, _ isUseful: (Element) -> Bool) -> Bool {
        let entry = self[Int(sequence & Int64(count - 1))]
        return entry.sequence >= 0 && entry.sequence == sequence && isUseful(entry)
    }

    /// Forgets the oldest entries if there are more.
    private mutating func resize(to count: Int, before next: Int64) {
        var resized = Array(repeating: Element(), count: count)
        for entry in self where entry.sequence >= Swift.max(0, next &- Int64(count)) {
            resized[Int(entry.sequence) & (count - 1)] = entry
        }
        self = resized
    }
}
