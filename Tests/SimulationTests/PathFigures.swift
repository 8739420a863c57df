import MediaCore

/// How flows performed on a shared bottleneck: the metrics of RFC 8868 section 3 that have a threshold here.
struct PathFigures {
    /// Least share of the capacity in use, from 10 s after a change of it.
    var use = 1.0
    /// Highest rate sent 3 to 5 s after a drop of the capacity, relative to the capacity.
    var excess = 0.0
    /// 95th percentile of the queue delay in milliseconds, without the 3 s after a drop.
    var queue = 0.0
    /// Jain's fairness index of the rates of `flows`.
    var fairness: Double?

    /// - Parameters:
    ///   - end: in seconds.
    ///   - flows: the flows to be compared with each other, and the second from which all of them send.
    init(_ place: SimulatedBottleneck, end: Int, flows: (ids: [Int], since: Int)? = nil) {
        let end = Double(end)
        var settled: [Double] = []
        for (index, step) in place.steps.enumerated() {
            let from = (step.at - SimulatedCall.start).inSeconds
            let to =
                index + 1 < place.steps.count ? (place.steps[index + 1].at - SimulatedCall.start).inSeconds : end
            let isDrop = index > 0 && step.rate < place.steps[index - 1].rate
            let capacity = Double(step.rate.bitsPerSecond)
            if to - from > 10 { use = min(use, place.carried(from: from + 10, to: to) / capacity) }
            if isDrop { excess = max(excess, place.offered(from: from + 3, to: from + 5) / capacity) }
            settled += place.waits(from: from + (isDrop ? 3 : 0), to: to)
        }
        settled.sort()
        queue = settled.isEmpty ? 0 : settled[settled.count * 95 / 100]
        if let flows {
            let rates = flows.ids.map { place.carried(from: Double(flows.since), to: end, flow: $0) }
            let sum = rates.reduce(0, +)
            let squares = rates.reduce(0) { $0 + $1 * $1 }
            fairness = squares == 0 ? 0 : sum * sum / (Double(rates.count) * squares)
        }
    }

    private init() {}

    /// The worst value of each figure.
    static func worst(_ all: [PathFigures]) -> PathFigures {
        var result = PathFigures()
        for one in all {
            result.use = min(result.use, one.use)
            result.excess = max(result.excess, one.excess)
            result.queue = max(result.queue, one.queue)
            if let fairness = one.fairness { result.fairness = min(result.fairness ?? 1, fairness) }
        }
        return result
    }
}

extension Double {
    /// Formats the number with so many decimals.
    func text(_ digits: Int) -> String {
        let factor = (0..<digits).reduce(1.0) { power, _ in power * 10 }
        let rounded = (self * factor).rounded() / factor
        return digits == 0 ? "\(Int(rounded))" : "\(rounded)"
    }
    /// A share as a percentage.
    var percent: String { "\((self * 100).text(0)) %" }
}
