import MediaCore

/// A simulated bottleneck link that several flows share, in virtual time: a drop-tail queue whose rate follows a
/// schedule.
final class SimulatedBottleneck {
    /// The passage of one packet, with the time at which it entered.
    struct Passage {
        var at: MediaInstant
        var flow: Int
        var bytes: Int
        /// Time in the queue; nil: dropped, as the queue was full.
        var wait: MediaDuration?
    }

    struct Step {
        var at: MediaInstant
        var rate: Bitrate
    }

    /// The rates over time; the first holds from the start.
    let steps: [Step]
    private let queue: MediaDuration
    private var freeAt = MediaInstant(nanoseconds: 0)
    private var current = 0
    private(set) var passages: [Passage] = []

    /// - Parameter steps: seconds after the start, and the rate from then on in kbit/s.
    init(_ steps: [(second: Int, kilobits: Int)], queue: MediaDuration = .milliseconds(300)) {
        precondition(steps.first?.second == 0, "a schedule that does not begin at 0")
        self.steps = steps.map { Step(at: SimulatedCall.start + .seconds($0.second), rate: .kilobits($0.kilobits)) }
        self.queue = queue
    }

    /// Sends one packet through.
    /// - Returns: when its last bit leaves; nil if it is dropped, as it would wait for longer than `queue`.
    func pass(bytes: Int, flow: Int, now: MediaInstant) -> MediaInstant? {
        let begin = max(now, freeAt)
        let wait = begin - now
        guard wait <= queue else {
            passages.append(Passage(at: now, flow: flow, bytes: bytes, wait: nil))
            return nil
        }
        passages.append(Passage(at: now, flow: flow, bytes: bytes, wait: wait))
        var left = Double(bytes)
        var at = begin
        while true {
            while current + 1 < steps.count, steps[current + 1].at <= at { current += 1 }
            let rate = steps[current].rate
            let end = at + rate.duration(ofBytes: Int(left.rounded(.up)))
            guard current + 1 < steps.count, end > steps[current + 1].at else {
                freeAt = end
                return end
            }
            left -= Double(rate.bitsPerSecond) / 8 * (steps[current + 1].at - at).inSeconds
            at = steps[current + 1].at
        }
    }

    // MARK: Figures; times are seconds after the start

    private func between(_ from: Double, _ to: Double) -> ArraySlice<Passage> {
        passages[index(of: from)..<index(of: to)]
    }

    /// The first packet that entered at that second or later.
    private func index(of second: Double) -> Int {
        let at = SimulatedCall.start + .milliseconds(Int(second * 1_000))
        var low = 0
        var high = passages.count
        while low < high {
            let middle = (low + high) / 2
            if passages[middle].at < at { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Bits per second that one flow, or all flows, got through.
    func carried(from: Double, to: Double, flow: Int? = nil) -> Double {
        var bytes = 0
        for passage in between(from, to) where passage.wait != nil && (flow == nil || passage.flow == flow) {
            bytes += passage.bytes
        }
        return Double(bytes * 8) / (to - from)
    }

    /// Bits per second that entered, with those dropped.
    func offered(from: Double, to: Double) -> Double {
        var bytes = 0
        for passage in between(from, to) { bytes += passage.bytes }
        return Double(bytes * 8) / (to - from)
    }

    func capacity(at second: Double) -> Double {
        let at = SimulatedCall.start + .milliseconds(Int(second * 1_000))
        return Double((steps.last { $0.at <= at } ?? steps[0]).rate.bitsPerSecond)
    }

    func waits(from: Double, to: Double) -> [Double] {
        between(from, to).compactMap { $0.wait?.inMilliseconds }
    }
}
