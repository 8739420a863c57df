internal import MediaCore

/// A large change on a slow line goes out in slices from top to bottom, each a frame of its own: the next is made while the last one
/// is on its way, so that a thorough search costs no time, the first lines of a page can be read long before the last are there, and
/// what changes meanwhile waits for a slice instead of a page.
struct ProgressiveUpdate {
    /// Of all slices of a change; nil while none is under way.
    private(set) var quantizer: Int?
    /// Where the next one begins, in rows of blocks.
    private(set) var row = 0
    /// What a thorough search takes, in nanoseconds for each byte that comes out.
    private var thoroughCost = 1_500.0

    /// Of the time that a slice is on its way, what the next one's search may take.
    private static let largestShare = 0.65

    /// The coarsest that is still readable: 30 dB on small text.
    static let worstQuantizer = 49

    /// Whether so many bytes are worth it: they would be under way for more than a fifth of a second.
    static func areWorthwhile(for bytes: Int, at bitrate: Bitrate) -> Bool { bytes * 8 * 5 > bitrate.bitsPerSecond }

    /// What a slice is to take: a twelfth of a second, and the first one less, as nothing is on its way while it is made.
    func budget(at bitrate: Bitrate) -> Int { max(bitrate.bitsPerSecond / 8 / (row == 0 ? 36 : 12), 1) }

    /// How to search, so that a slice is made well before the last one has left.
    func search(at bitrate: Bitrate) -> MotionSearch {
        let share = thoroughCost * Double(bitrate.bitsPerSecond) / 8 / 1e9
        return row > 0 && share < Self.largestShare ? .thorough : .wide
    }

    mutating func begin(quantizer: Int) {
        self.quantizer = quantizer
        row = 0
    }

    /// A slice that ends in front of a row was made.
    mutating func advance(to row: Int) { self.row = row }

    mutating func end() { quantizer = nil }

    /// A slice took so long to make. Where a thorough search takes too long, it is tried again a few slices later.
    mutating func note(_ search: MotionSearch, _ time: Duration, bytes: Int) {
        guard search == .thorough else { return thoroughCost *= 0.9 }
        guard bytes > 4_000 else { return }
        thoroughCost += (time / .nanoseconds(1) / Double(bytes) - thoroughCost) / 4
    }
}
