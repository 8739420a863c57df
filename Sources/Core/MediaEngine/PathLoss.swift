import MediaCore

/// What share of the packets the path loses, whatever the reason: decides how much is repeated before anybody asks.
struct PathLoss {
    private var quick = 0.0
    private var slow = 0.0

    /// 0...1; what was lost lately counts, and what is lost again and again.
    var share: Double { max(quick, slow) }

    /// How many times a packet is worth repeating unasked.
    var repetitions: Int {
        switch share {
        case ..<0.012: 0
        case ..<0.03: 1 + (isInRuns ? 1 : 0)
        case ..<0.07: 1 + (isInRuns ? 2 : 0)
        default: 2 + (isInRuns ? 1 : 0)
        }
    }

    /// Behind a lost packet another is lost far more often than else.
    private var isInRuns: Bool { runs > max(2 * slow, 0.3) }
    private var runs = 0.0
    private var wasLost = false

    /// What became of a packet, in the order of sending.
    mutating func note(isLost: Bool) {
        if wasLost { runs += ((isLost ? 1 : 0) - runs) / 16 }
        wasLost = isLost
    }

    /// - Parameter lost: under zero for packets that came after all.
    mutating func note(lost: Int, received: Int) {
        let total = max(lost &+ received, 0)
        guard total > 0 else { return }
        let fraction = min(max(Double(lost) / Double(total), 0), 1)
        let count = Double(min(total, 10_000))
        quick += (fraction - quick) * count / (count + 64)
        slow += (fraction - slow) * count / (count + 512)
    }
}
