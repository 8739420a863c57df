import LinuxRuntime
import MediaCore
import Testing

@Suite struct MonotonicClockTests {
    @Test func neverGoesBack() {
        var last = MonotonicClock.now
        for _ in 0..<100_000 {
            let now = MonotonicClock.now
            #expect(now >= last)
            last = now
        }
    }

    @Test func isTheClockThatConditionsWaitBy() {
        let begin = MonotonicClock.now
        let nothing = Monitor(0).wait(until: begin + .milliseconds(20)) { _ in Int?.none }
        #expect(nothing == nil)
        #expect(MonotonicClock.now - begin >= .milliseconds(20))
    }
}
