internal import MediaCore

/// Splits a large change on a slow network path into bands from top to bottom, each of which is a frame.
/// A band is encoded while the one before is being sent, so a thorough motion search adds no delay. The first lines of
/// a page can be read early, and later changes wait for one band instead of a whole page.
struct ProgressiveUpdate {
    /// The quantizer of all bands of the current change; nil if there is none.
    private(set) var quantizer: Int?
    /// The row of blocks where the next band begins.
    private(set) var row = 0
    /// The time that a thorough search takes, in nanoseconds per encoded byte.
    private var thoroughCost = 1_500.0

    /// The largest share of a band's transmission time that the thorough search of the next band may take.
    private static let largestShare = 0.65

    /// The coarsest quantizer at which small text can be read, with 60 % of the bytes of quantizer 20. At 49 some words
    /// wait for their refinement (Docs/internals/decisions.md).
    static let worstQuantizer = 44

    /// Whether `bytes` take more than 200 ms to send, so that bands pay off.
    static func isWorthSplitting(for bytes: Int, at bitrate: Bitrate) -> Bool { bytes * 8 * 5 > bitrate.bitsPerSecond }

    /// The size of all bands, in bytes: 1/8 s at `bitrate`. What they lack in sharpness follows as refinement, when all
    /// can be read.
    static func wholeBudget(at bitrate: Bitrate) -> Int { bitrate.bitsPerSecond / 8 / 8 }

    /// The size of the next band in bytes, without cheap rows of others: 1/10 s at `bitrate`, or 1/36 s for the first
    /// one, as nothing is being sent while it is encoded. Both together are 1/8 s.
    func budget(at bitrate: Bitrate) -> Int { max(bitrate.bitsPerSecond / 8 / (row == 0 ? 36 : 10), 1) }

    /// The motion search for the next band, which must be encoded well before the last one has been sent.
    func search(at bitrate: Bitrate) -> MotionSearch {
        let share = thoroughCost * Double(bitrate.bitsPerSecond) / 8 / 1e9
        return row > 0 && share < Self.largestShare ? .thorough : .wide
    }

    mutating func begin(quantizer: Int) {
        self.quantizer = quantizer
        row = 0
    }

    /// Records that the last band ended in front of `row`.
    mutating func advance(to row: Int) { self.row = row }

    mutating func end() { quantizer = nil }

    /// Adapts the cost of a thorough search to the encoding time of a band. The estimate decays with other searches,
    /// so a thorough one is tried again a few bands later.
    mutating func note(_ search: MotionSearch, _ time: Duration, bytes: Int) {
        guard search == .thorough else { return thoroughCost *= 0.9 }
        guard bytes > 4_000 else { return }
        thoroughCost += (time / .nanoseconds(1) / Double(bytes) - thoroughCost) / 4
    }
}
