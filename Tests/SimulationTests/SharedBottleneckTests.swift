import MediaCore
import MediaEngine
import Testing

/// Whether a sender can tell its own slow line from slow receivers.
@Suite struct SharedBottleneckTests {
    /// The first second in which the detector reports; nil: in none of 90.
    private func detection(_ places: [SimulatedBottleneck], maximum: Int = 10_000, seed: UInt64) -> Int? {
        let network = SimulatedNetwork()
        let calls = places.enumerated().map {
            SharedPathTests.call(flow: $0, through: $1, begins: 2 * $0, seed: seed, maximum: maximum)
        }
        for call in calls { network.add(call) }
        var detector = SharedBottleneckDetector()
        var detected: Int?
        for second in 1...90 {
            network.after(.seconds(second)) {
                let flows = calls.map {
                    SharedBottleneckDetector.Flow(
                        estimate: $0.sender.estimate, isLimited: $0.sender.limit != .nothing)
                }
                let isShared = detector.update(flows, now: SimulatedCall.start + .seconds(second))
                if isShared, detected == nil { detected = second }
            }
        }
        network.run(until: .seconds(91))
        return detected
    }

    @Test(arguments: SharedPathTests.seeds)
    func theSendersOwnLineIsDetected(seed: UInt64) {
        for (kilobits, flows) in [(2_000, 2), (4_000, 3), (3_000, 5)] {
            let line = SimulatedBottleneck([(0, kilobits)])
            let second = detection(Array(repeating: line, count: flows), seed: seed)
            #expect(second ?? 90 < 60, "\(flows) flows through \(kilobits) kbit/s")
        }
    }

    @Test(arguments: SharedPathTests.seeds)
    func slowReceiversAreNot(seed: UInt64) {
        for rates in [[1_000, 2_000], [700, 1_500, 4_000], [1_000, 50_000], [50_000, 50_000]] {
            let second = detection(rates.map { SimulatedBottleneck([(0, $0)]) }, seed: seed)
            #expect(second == nil, "\(rates) kbit/s")
        }
    }

    /// A line that is large enough for all is not the limit, however full one receiver's is.
    @Test(arguments: SharedPathTests.seeds)
    func aLineThatIsLargeEnoughIsNot(seed: UInt64) {
        let line = SimulatedBottleneck([(0, 20_000)])
        #expect(detection([line, line, line], maximum: 3_000, seed: seed) == nil)
    }
}
