import MediaCore
import MediaEngine
import Testing

/// RFC 8867 section 5: flows that share a bottleneck. One-way delay 50 ms, a drop-tail queue of 300 ms, frames of
/// varying size; each case with three seeds, of which the worst counts. Each prints a row of
/// Benchmarks/Results/simulated-networks.md.
@Suite struct SharedPathTests {
    static let seeds: [UInt64] = [1, 2, 3]

    static func call(
        flow: Int, through place: SimulatedBottleneck, back: SimulatedBottleneck? = nil, delay: Int = 50,
        begins: Int = 0, seed: UInt64, audio: Bool = false, maximum: Int = 10_000
    ) -> SimulatedCall {
        var options = SimulatedCall.Options()
        options.startBitrate = .kilobits(300)
        options.maximumBitrate = .kilobits(maximum)
        options.begins = .seconds(begins)
        options.audioTracks = audio ? 1 : 0
        let call = SimulatedCall(
            seed: seed &* 31 &+ UInt64(flow), .init(delay: .milliseconds(delay)),
            plan: .camera(perSecond: 30, limit: .kilobits(maximum)), options: options)
        call.keyframeBytes = 10_000
        call.forward.bottleneck = (place, flow)
        call.backward.bottleneck = back.map { ($0, flow) }
        return call
    }

    /// Rates of the flows in kbit/s, with the capacity and the queue delay, every five seconds; printed on failure.
    static func course(_ place: SimulatedBottleneck, flows: [Int], end: Int, calls: [SimulatedCall] = []) -> String {
        stride(from: 5, through: end, by: 5).map { second in
            let from = Double(second - 5)
            let shares = flows.map { (place.carried(from: from, to: Double(second), flow: $0) / 1_000).text(0) }
            let waits = place.waits(from: from, to: Double(second)).sorted()
            let queue = waits.isEmpty ? 0 : waits[waits.count * 95 / 100]
            let estimates = calls.map { "\($0.estimate(at: .seconds(second)).kilobitsPerSecond)" }
            return
                "\(second): \(shares.joined(separator: " ")) (\((place.capacity(at: from) / 1_000).text(0))) \(queue.text(0)) ms est \(estimates.joined(separator: " "))"
        }.joined(separator: "\n")
    }

    static func row(_ name: String, _ figures: PathFigures, _ rest: String = "") {
        print(
            "| \(name) | \(figures.use.percent) | \(figures.excess == 0 ? "" : figures.excess.text(2)) |",
            "\(figures.queue.text(0)) | \(figures.fairness?.text(2) ?? "") | \(rest) |")
    }

    private func check(
        _ figures: PathFigures, _ courses: [() -> String], at location: SourceLocation = #_sourceLocation
    ) {
        #expect(figures.use >= 0.8, sourceLocation: location)
        #expect(figures.excess < 1.05, sourceLocation: location)
        #expect(figures.queue < 150, sourceLocation: location)
        #expect(figures.fairness ?? 1 >= 0.8, sourceLocation: location)
        let isGood = figures.use >= 0.8 && figures.excess < 1.05 && figures.queue < 150
        if !isGood || figures.fairness ?? 1 < 0.8 { for course in courses { print(course()) } }
    }

    /// RFC 8867 section 5.1.
    @Test func variableCapacityWithOneFlow() {
        var courses: [() -> String] = []
        let all = Self.seeds.map { seed in
            let place = SimulatedBottleneck([(0, 1_000), (40, 2_500), (60, 600), (80, 1_000)])
            let call = Self.call(flow: 0, through: place, seed: seed)
            let network = SimulatedNetwork()
            network.add(call)
            network.run(until: .seconds(100))
            courses.append { Self.course(place, flows: [0], end: 100, calls: [call]) }
            #expect(call.damaged == 0 && call.outOfOrder == 0)
            return PathFigures(place, end: 100)
        }
        Self.row("5.1 one flow, 1, 2.5, 0.6, 1 Mbit/s", .worst(all))
        check(.worst(all), courses)
    }

    /// RFC 8867 section 5.2.
    @Test func variableCapacityWithTwoFlows() {
        var courses: [() -> String] = []
        let all = Self.seeds.map { seed in
            let place = SimulatedBottleneck([(0, 4_000), (25, 2_000), (50, 3_500), (75, 1_000), (100, 2_000)])
            let calls = (0..<2).map { Self.call(flow: $0, through: place, seed: seed) }
            let network = SimulatedNetwork()
            for call in calls { network.add(call) }
            network.run(until: .seconds(125))
            courses.append { Self.course(place, flows: [0, 1], end: 125, calls: calls) }
            return PathFigures(place, end: 125, flows: ([0, 1], 10))
        }
        Self.row("5.2 two flows, 4, 2, 3.5, 1, 2 Mbit/s", .worst(all))
        check(.worst(all), courses)
    }

    /// RFC 8867 section 5.3.
    @Test func congestedFeedbackPath() {
        var courses: [() -> String] = []
        var all: [PathFigures] = []
        for seed in Self.seeds {
            let there = SimulatedBottleneck([(0, 2_000), (20, 1_000), (40, 500), (60, 2_000)])
            let back = SimulatedBottleneck([(0, 2_000), (35, 800), (70, 2_000)])
            let network = SimulatedNetwork()
            let calls = [
                Self.call(flow: 0, through: there, back: back, seed: seed),
                Self.call(flow: 1, through: back, back: there, seed: seed),
            ]
            for call in calls { network.add(call) }
            network.run(until: .seconds(100))
            courses.append { Self.course(there, flows: [0, 1], end: 100, calls: calls) }
            courses.append { Self.course(back, flows: [0, 1], end: 100) }
            all.append(PathFigures(there, end: 100))
            all.append(PathFigures(back, end: 100))
        }
        Self.row("5.3 media both ways, 2, 1, 0.5, 2 and 2, 0.8, 2 Mbit/s", .worst(all))
        check(.worst(all), courses)
    }

    /// RFC 8867 section 5.4.
    @Test func threeFlowsThatBeginOneAfterTheOther() {
        var courses: [() -> String] = []
        let all = Self.seeds.map { seed in
            let place = SimulatedBottleneck([(0, 3_500)])
            let network = SimulatedNetwork()
            let calls = (0..<3).map { Self.call(flow: $0, through: place, begins: 20 * $0, seed: seed) }
            for call in calls { network.add(call) }
            network.run(until: .seconds(120))
            courses.append { Self.course(place, flows: [0, 1, 2], end: 120, calls: calls) }
            return PathFigures(place, end: 120, flows: ([0, 1, 2], 70))
        }
        Self.row("5.4 three flows from 0, 20, 40 s on, 3.5 Mbit/s", .worst(all))
        check(.worst(all), courses)
    }

    /// RFC 8867 section 5.5.
    @Test func flowsFromNearAndFar() {
        var courses: [() -> String] = []
        let all = Self.seeds.map { seed in
            let place = SimulatedBottleneck([(0, 4_000)])
            let network = SimulatedNetwork()
            let calls = [10, 25, 50, 100, 150].enumerated().map {
                Self.call(flow: $0, through: place, delay: $1, begins: 10 * $0, seed: seed)
            }
            for call in calls { network.add(call) }
            network.run(until: .seconds(150))
            courses.append { Self.course(place, flows: [0, 1, 2, 3, 4], end: 150, calls: calls) }
            return PathFigures(place, end: 150, flows: ([0, 1, 2, 3, 4], 80))
        }
        Self.row("5.5 five flows, one-way delay 10, 25, 50, 100, 150 ms, 4 Mbit/s", .worst(all))
        check(.worst(all), courses)
    }

    /// RFC 8867 section 5.6. The TCP flow determines the queue, so its delay is not checked.
    @Test(arguments: [SimulatedTCP.Congestion.reno, .cubic])
    func againstALongDownload(congestion: SimulatedTCP.Congestion) {
        var courses: [() -> String] = []
        var least = (ours: 1.0, theirs: 1.0)
        let all = Self.seeds.map { seed in
            let place = SimulatedBottleneck([(0, 2_000)])
            let network = SimulatedNetwork()
            let call = Self.call(flow: 0, through: place, seed: seed)
            network.add(call)
            network.add(
                SimulatedTCP(
                    flow: 1, congestion, .endless, through: place, delay: .milliseconds(50), begins: .seconds(5),
                    seed: seed))
            network.run(until: .seconds(120))
            courses.append { Self.course(place, flows: [0, 1], end: 120, calls: [call]) }
            least.ours = min(least.ours, place.carried(from: 30, to: 120, flow: 0) / 2e6)
            least.theirs = min(least.theirs, place.carried(from: 30, to: 120, flow: 1) / 2e6)
            return PathFigures(place, end: 120)
        }
        Self.row(
            "5.6 against a long TCP flow (\(congestion)), 2 Mbit/s", .worst(all),
            "ours at least \(least.ours.percent), TCP's at least \(least.theirs.percent)")
        #expect(PathFigures.worst(all).use >= 0.8)
        #expect(least.ours >= 0.25 && least.theirs >= 0.25)
        if least.ours < 0.25 || least.theirs < 0.25 { for course in courses { print(course()) } }
    }

    /// RFC 8867 section 5.7.
    @Test func amongShortDownloads() {
        var courses: [() -> String] = []
        var least = (ours: 1.0, theirs: 1.0)
        let all = Self.seeds.map { seed in
            let place = SimulatedBottleneck([(0, 2_000)])
            let back = SimulatedBottleneck([(0, 2_000)])
            let network = SimulatedNetwork()
            let call = Self.call(flow: 0, through: place, back: back, seed: seed)
            network.add(call)
            for flow in 1...10 {
                network.add(
                    SimulatedTCP(
                        flow: flow, .cubic, .short(pause: 10), through: place, back: back, delay: .milliseconds(50),
                        seed: seed))
                network.add(
                    SimulatedTCP(
                        flow: 10 + flow, .cubic, .short(pause: 10), through: back, back: place,
                        delay: .milliseconds(50), seed: seed))
            }
            network.run(until: .seconds(100))
            courses.append { Self.course(place, flows: [0], end: 100, calls: [call]) }
            let ours = place.carried(from: 10, to: 100, flow: 0) / 2e6
            least.ours = min(least.ours, ours)
            least.theirs = min(least.theirs, place.carried(from: 10, to: 100) / 2e6 - ours)
            return PathFigures(place, end: 100)
        }
        Self.row(
            "5.7 among ten short TCP flows each way, 2 Mbit/s", .worst(all),
            "ours at least \(least.ours.percent), TCP's at least \(least.theirs.percent)")
        #expect(PathFigures.worst(all).use >= 0.8)
        #expect(least.ours >= 0.1 && least.theirs >= 0.25)
        if least.ours < 0.1 || least.theirs < 0.25 { for course in courses { print(course()) } }
    }

    /// RFC 8867 section 5.8.
    @Test func oneOfThreePausesAndGoesOn() {
        var courses: [() -> String] = []
        let all = Self.seeds.map { seed in
            let place = SimulatedBottleneck([(0, 3_500)])
            let network = SimulatedNetwork()
            let calls = (0..<3).map { Self.call(flow: $0, through: place, seed: seed) }
            for call in calls { network.add(call) }
            network.after(.seconds(40)) { calls[0].plan = .still }
            network.after(.seconds(60)) { calls[0].plan = .camera(perSecond: 30, limit: .kilobits(10_000)) }
            network.run(until: .seconds(120))
            courses.append { Self.course(place, flows: [0, 1, 2], end: 120, calls: calls) }
            #expect(place.carried(from: 50, to: 60) / 3.5e6 >= 0.8)
            #expect(place.carried(from: 45, to: 60, flow: 0) < 10_000)
            return PathFigures(place, end: 120, flows: ([0, 1, 2], 75))
        }
        Self.row("5.8 one of three flows rests from 40 to 60 s, 3.5 Mbit/s", .worst(all))
        check(.worst(all), courses)
    }
}
