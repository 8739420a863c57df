import MediaCore

/// What share of the packets the path loses, whatever the reason: decides how much is repeated before anybody asks.
struct LossEstimator {
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

    /// Which packets before it each sound packet is to carry again.
    /// - Parameter isSpaced: the other side waits for what comes late; else it has to come with the next packets.
    func soundDistances(isSpaced: Bool) -> RedundancyDistances {
        switch share {
        case ..<0.006: .none
        case ..<0.03: isInRuns ? .lastTwo : .last
        default: isInRuns && isSpaced ? .spaced : .lastTwo
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

/// Which packets before it a sound packet carries again: up to two, counted back from it.
struct RedundancyDistances {
    static let none = RedundancyDistances(count: 0, near: 0, far: 0)
    static let last = RedundancyDistances(count: 1, near: 1, far: 0)
    static let lastTwo = RedundancyDistances(count: 2, near: 1, far: 2)
    static let spaced = RedundancyDistances(count: 2, near: 2, far: 4)

    private(set) var count: Int
    private let near: Int
    private let far: Int

    /// The nearest first.
    subscript(index: Int) -> Int { index == 0 ? near : far }

    /// At most so many.
    func prefix(_ most: Int) -> RedundancyDistances {
        RedundancyDistances(count: max(0, min(count, most)), near: near, far: far)
    }
}
