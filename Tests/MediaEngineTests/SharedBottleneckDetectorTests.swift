import MediaCore
import Testing

@testable import MediaEngine

@Suite struct SharedBottleneckDetectorTests {
    private typealias Flow = SharedBottleneckDetector.Flow
    private var detector = SharedBottleneckDetector()

    private func flows(_ kilobits: Int..., isLimited: Bool = true) -> [Flow] {
        kilobits.map { Flow(estimate: .kilobits($0), isLimited: isLimited) }
    }

    /// The first second from `begin` on in which the bottleneck counts as shared.
    private mutating func detection(_ flows: [Flow], from begin: Int = 0, within seconds: Int = 60) -> Int? {
        (begin..<begin + seconds).first { detector.update(flows, now: MediaInstant(nanoseconds: 0) + .seconds($0)) }
    }

    @Test mutating func tenSecondsOfEqualLimitsAreABottleneck() {
        let first = detection(flows(1_000, 1_700))
        #expect(first == 10)
        // It begins anew.
        let second = detection(flows(1_000, 1_700), from: 11)
        #expect(second == 21)
    }

    @Test mutating func oneFlowAndUnequalOnesAndThoseThatHaveEnoughAreNone() {
        for flows in [
            [], flows(1_000), flows(1_000, 1_800), flows(1_000, 1_000, isLimited: false),
            flows(1_000, 1_000) + flows(1_000, isLimited: false),
        ] {
            let found = detection(flows)
            #expect(found == nil, "\(flows)")
        }
    }

    @Test mutating func interruptionsSubtract() {
        let equal = flows(500, 500)
        for begin in stride(from: 0, to: 90, by: 9) {
            let found = detection(equal, from: begin, within: 5)
            let pause = detection(flows(500), from: begin + 5, within: 4)
            #expect((found == nil || begin >= 45) && pause == nil, "\(begin)")
            if found != nil { return }
        }
        Issue.record("it never counted")
    }

    /// A process that was suspended has seen nothing.
    @Test mutating func aLongPauseCountsLittle() {
        let found = [0, 100, 200, 300].map {
            detector.update(flows(500, 500), now: MediaInstant(nanoseconds: 0) + .seconds($0))
        }
        #expect(found == [false, false, false, false])
    }
}
