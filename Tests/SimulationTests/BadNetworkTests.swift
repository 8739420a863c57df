import MediaCore
import MediaEngine
import Testing

/// Pictures and sound over lossy paths, between peers of our own: what Docs/performance.md says of them.
@Suite struct BadNetworkTests {
    struct Case: CustomTestStringConvertible {
        var percent: Double
        /// Packets a run of loss; 1: at random.
        var burst: Double
        var roundTrip: Int
        var seeds: [UInt64]

        var testDescription: String { "\(percent) % in runs of \(burst), \(roundTrip) ms" }
    }

    static let cases: [Case] = [1.0, 5, 10, 20].flatMap { percent in
        [1.0, 4].flatMap { burst in
            [20, 50, 200].map { Case(percent: percent, burst: burst, roundTrip: $0, seeds: [1, 2, 3]) }
        }
    }

    static func call(_ one: Case, seed: UInt64, hasReferences: Bool = true) -> SimulatedCall {
        var options = SimulatedCall.Options()
        options.audioTracks = 1
        options.hasReferences = hasReferences
        var conditions = SimulatedLink.Conditions(delay: .milliseconds(one.roundTrip / 2), lossPercent: one.percent)
        conditions.burstLength = one.burst > 1 ? one.burst : 0
        return SimulatedCall(seed: seed, conditions, plan: .steady(perSecond: 30, bytes: 6_000), options: options)
    }

    @Test(arguments: cases)
    func table(one: Case) {
        for references in [false, true] {
        for seed in one.seeds {
            let call = Self.call(one, seed: seed, hasReferences: references)
            call.run(for: .seconds(30))
            print("ROW", one, references, call.summary)
            #expect(call.damaged == 0 && call.outOfOrder == 0)
        }
        }
    }
}
