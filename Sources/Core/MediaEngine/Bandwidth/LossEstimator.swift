import MediaCore

/// Estimates the packet loss of the path, whatever causes it, for redundancy: how many unrequested duplicates of video
/// packets are sent, and which audio packets RED (RFC 2198) carries again.
struct LossEstimator {
    private var quick = 0.0
    private var slow = 0.0

    /// The loss share, 0...1: the larger of a quick average (64 packets) and a slow one (512 packets).
    var share: Double { max(quick, slow) }

    /// How many unrequested duplicates of each video packet are worth sending, 0...3.
    var duplicateCount: Int {
        switch share {
        case ..<0.012: 0
        case ..<0.03: 1 + (isInRuns ? 1 : 0)
        case ..<0.07: 1 + (isInRuns ? 2 : 0)
        default: 2 + (isInRuns ? 1 : 0)
        }
    }

    /// Which earlier audio packets each RED packet carries again.
    /// - Parameter isSpaced: the receiver's jitter buffer waits for packets that a later one carries (our own
    ///   receiver). Other receivers need them in the next packets.
    func redundancyDistances(isSpaced: Bool) -> RedundancyDistances {
        switch share {
        case ..<0.006: .none
        case ..<0.03: isInRuns ? .lastTwo : .last
        default: isInRuns && isSpaced ? .spaced : .lastTwo
        }
    }

    /// Losses come in bursts: after a lost packet the next one is lost far more often than on average.
    private var isInRuns: Bool { runs > max(2 * slow, 0.3) }
    private var runs = 0.0
    private var wasLost = false

    /// Takes in the status of one packet, in the order of sending.
    mutating func note(isLost: Bool) {
        if wasLost { runs += ((isLost ? 1 : 0) - runs) / 16 }
        wasLost = isLost
    }

    /// Takes in the counts of one feedback message or report.
    /// - Parameter lost: negative for packets that were reported as lost and arrived later.
    mutating func note(lost: Int, received: Int) {
        let total = max(lost &+ received, 0)
        guard total > 0 else { return }
        let fraction = min(max(Double(lost) / Double(total), 0), 1)
        let count = Double(min(total, 10_000))
        quick += (fraction - quick) * count / (count + 64)
        slow += (fraction - slow) * count / (count + 512)
    }
}

/// The distances, in packets, of the earlier audio packets that a RED packet (RFC 2198) carries again: up to two.
struct RedundancyDistances {
    static let none = RedundancyDistances(count: 0, near: 0, far: 0)
    static let last = RedundancyDistances(count: 1, near: 1, far: 0)
    static let lastTwo = RedundancyDistances(count: 2, near: 1, far: 2)
    static let spaced = RedundancyDistances(count: 2, near: 2, far: 4)

    private(set) var count: Int
    private let near: Int
    private let far: Int

    /// Ascending.
    subscript(index: Int) -> Int { index == 0 ? near : far }

    /// The first `most` distances.
    func prefix(_ most: Int) -> RedundancyDistances {
        RedundancyDistances(count: max(0, min(count, most)), near: near, far: far)
    }
}
