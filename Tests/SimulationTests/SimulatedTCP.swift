import Glibc
import MediaCore
import TestSupport

/// A simulated TCP download that competes for the bottleneck. Each transmission gets a new number, as in QUIC, which
/// behaves as TCP with selective acknowledgements.
final class SimulatedTCP: SimulatedParty {
    /// The congestion control algorithm.
    enum Congestion {
        /// RFC 5681: halves the window after a loss, and grows it by a packet per round trip.
        case reno
        /// RFC 9438.
        case cubic
    }

    /// The downloads of a flow.
    enum Load {
        case endless
        /// Transfers of 100 kB to 1 MB, with exponentially distributed pauses of this mean in seconds.
        case short(pause: Double)
    }

    private static let packetBytes = 1_500
    private static let acknowledgementBytes = 52

    private struct Flight {
        var number: Int
        var arrival: MediaInstant
    }

    let flow: Int
    private let congestion: Congestion
    private let load: Load
    private let forward: SimulatedBottleneck
    private let backward: SimulatedBottleneck?
    private let delay: MediaDuration
    private var random: SeededGenerator

    private var data: [Flight] = []
    private var answers: [Flight] = []
    private var outstanding: [(number: Int, sent: MediaInstant)] = []
    private var next = 0
    private var window = 10.0
    private var threshold = Double.infinity
    private var recoveryEnds = 0
    private var roundTrip = 0.2
    private var lastHeard: MediaInstant
    private var timeouts = 0
    private var beginning: MediaInstant
    /// Packets left to send; nil: no transfer is under way.
    private var left: Int?
    private(set) var transfers = 0
    private var largestWindow = 0.0
    private var epoch: MediaInstant?
    private(set) var nextEvent: MediaInstant

    init(
        flow: Int, _ congestion: Congestion, _ load: Load, through forward: SimulatedBottleneck,
        back backward: SimulatedBottleneck? = nil, delay: MediaDuration, begins: MediaDuration = .zero, seed: UInt64
    ) {
        self.flow = flow
        self.congestion = congestion
        self.load = load
        self.forward = forward
        self.backward = backward
        self.delay = delay
        random = SeededGenerator(seed: seed ^ UInt64(flow) << 32)
        beginning = SimulatedCall.start + begins
        lastHeard = beginning
        if case .short(let pause) = load { beginning = beginning + Self.rest(pause, &random) }
        nextEvent = beginning
    }

    private static func rest(_ mean: Double, _ random: inout SeededGenerator) -> MediaDuration {
        .milliseconds(Int(-mean * 1_000 * log(Double.random(in: 0.001...1, using: &random))))
    }

    func step(at now: MediaInstant) {
        if left == nil, now >= beginning { begin(now) }
        while let packet = data.first, packet.arrival <= now {
            data.removeFirst()
            let leaves = backward.map { $0.pass(bytes: Self.acknowledgementBytes, flow: flow, now: now) } ?? now
            if let leaves { answers.append(Flight(number: packet.number, arrival: leaves + delay)) }
        }
        while let answer = answers.first, answer.arrival <= now {
            answers.removeFirst()
            acknowledge(answer.number, now)
        }
        if !outstanding.isEmpty, now >= lastHeard + patience { timeOut(now) }
        send(now)
        if left == 0, outstanding.isEmpty, case .short(let pause) = load {
            left = nil
            transfers += 1
            beginning = now + Self.rest(pause, &random)
        }
        plan(now)
    }

    private var patience: MediaDuration {
        .milliseconds(Int(max(roundTrip * 2, 0.3) * 1_000) << min(timeouts, 4))
    }

    private func plan(_ now: MediaInstant) {
        var at = min(data.first?.arrival ?? .distantFuture, answers.first?.arrival ?? .distantFuture)
        if left == nil { at = min(at, beginning) }
        if !outstanding.isEmpty { at = min(at, lastHeard + patience) }
        nextEvent = max(at, now + .microseconds(1))
    }

    private func begin(_ now: MediaInstant) {
        switch load {
        case .endless: left = .max
        case .short: left = Int.random(in: 100_000...1_000_000, using: &random) / Self.packetBytes
        }
        window = 10
        threshold = .infinity
        epoch = nil
        largestWindow = 0
        lastHeard = now
        timeouts = 0
    }

    private func send(_ now: MediaInstant) {
        while let packets = left, packets > 0, outstanding.count < Int(window) {
            if case .short = load { left = packets - 1 }
            outstanding.append((next, now))
            if let leaves = forward.pass(bytes: Self.packetBytes, flow: flow, now: now) {
                data.append(Flight(number: next, arrival: leaves + delay))
            }
            next += 1
        }
    }

    private func acknowledge(_ number: Int, _ now: MediaInstant) {
        guard let place = outstanding.firstIndex(where: { $0.number == number }) else { return }
        lastHeard = now
        timeouts = 0
        roundTrip = 0.875 * roundTrip + 0.125 * (now - outstanding[place].sent).inSeconds
        outstanding.remove(at: place)
        let lost = outstanding.prefix { $0.number < number - 3 }
        if let last = lost.last {
            if case .short = load, let packets = left { left = packets + lost.count }
            if last.number >= recoveryEnds { reduce() }
            outstanding.removeFirst(lost.count)
        } else if number >= recoveryEnds {
            grow(now)
        }
    }

    private func reduce() {
        recoveryEnds = next
        epoch = nil
        largestWindow = window
        window = max(window * (congestion == .cubic ? 0.7 : 0.5), 2)
        threshold = window
    }

    private func grow(_ now: MediaInstant) {
        if window < threshold { return window += 1 }
        switch congestion {
        case .reno: window += 1 / window
        case .cubic:
            let begun = epoch ?? now
            epoch = begun
            let time = (now - begun).inSeconds
            let origin = cbrt(max(largestWindow - window, 0) / 0.4)
            let target = 0.4 * pow(time - origin, 3) + largestWindow
            // RFC 9438 section 4.3: never slower than Reno.
            window += max((target - window) / window, 0.53 / window)
            window = min(window, largestWindow * 2 + 1_000)
        }
    }

    private func timeOut(_ now: MediaInstant) {
        if case .short = load, let packets = left { left = packets + outstanding.count }
        outstanding.removeAll()
        threshold = max(window / 2, 2)
        window = 2
        recoveryEnds = next
        epoch = nil
        lastHeard = now
        timeouts += 1
    }
}
