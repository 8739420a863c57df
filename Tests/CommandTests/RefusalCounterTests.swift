import Foundation
import Signaling
import Testing

@testable import CommandSupport
@testable import RelayVerb
@testable import share

/// Refusals are printed or counted.
@Suite struct RefusalCounterTests {
    private let start = ContinuousClock.now

    @Test func firstRefusalsArePrintedAndTheOthersCounted() {
        var counter = RefusalCounter()
        for _ in 0..<3 { #expect(counter.add("Bob was not let in", at: start) == .line("Bob was not let in")) }
        #expect(counter.add("Eve", at: start) == .count("1 more; the last: Eve", isRound: true))
        for _ in 0..<998 { _ = counter.add("Eve", at: start) }
        #expect(counter.add("Eve", at: start) == .count("1000 more; the last: Eve", isRound: false))
    }

    @Test func countIsPrintedWhenNoMoreCome() {
        var counter = RefusalCounter()
        for _ in 0..<5 { _ = counter.add("Eve", at: start) }
        #expect(counter.settle(at: start + .seconds(59)) == .nothing)
        #expect(counter.settle(at: start + .seconds(60)) == .line("2 more were not let in"))
        #expect(counter.settle(at: start + .seconds(61)) == .nothing)
        #expect(counter.add("Bob", at: start + .seconds(62)) == .line("Bob"))
    }
}
