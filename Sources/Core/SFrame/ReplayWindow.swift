/// The counters of one key that were seen, of the newest 1,024. Frames may come in another order than they were sealed.
struct ReplayWindow: Sendable {
    static let size: UInt64 = 1_024

    /// The next counter after the newest one; 0: none was seen.
    private var next: UInt64 = 0
    /// A bit for each counter modulo `size`.
    private var seen: [UInt64] = []

    /// The last counter has no next one, and is never allowed.
    func allows(_ counter: UInt64) -> Bool {
        guard counter < .max else { return false }
        if counter >= next { return true }
        guard next - counter <= Self.size else { return false }
        return seen[Self.word(counter)] & Self.bit(counter) == 0
    }

    /// Takes note of a counter that is allowed.
    mutating func note(_ counter: UInt64) {
        if seen.isEmpty { seen = [UInt64](repeating: 0, count: Int(Self.size / 64)) }
        if counter >= next {
            if counter - next >= Self.size {
                seen = [UInt64](repeating: 0, count: seen.count)
            } else {
                for passed in next..<counter { seen[Self.word(passed)] &= ~Self.bit(passed) }
            }
            next = counter + 1
        }
        seen[Self.word(counter)] |= Self.bit(counter)
    }

    private static func word(_ counter: UInt64) -> Int { Int(counter % size / 64) }
    private static func bit(_ counter: UInt64) -> UInt64 { 1 << (counter % 64) }
}
