import Glibc
import LinuxRuntime
import MediaCore
import Testing

@Suite struct WakeupTests {
    @Test func signalsBeforeTheWaitAreKeptAndCountAsOne() throws {
        let wakeup = try Wakeup()
        #expect(!wakeup.consume())
        for _ in 0..<3 { wakeup.signal() }
        #expect(wakeup.wait(until: nil))
        #expect(wakeup.consume())
        #expect(!wakeup.consume())
    }

    @Test func itEndsTheWaitOfAnotherThread() throws {
        let wakeup = try Wakeup()
        let count = Monitor(0)
        let waiting = NamedThread("waits") {
            for _ in 0..<1_000 {
                while !wakeup.wait(until: nil) {}
                wakeup.consume()
                count.change { $0 += 1 }
            }
        }
        for number in 1...1_000 {
            wakeup.signal()
            count.wait { $0 == number ? () : nil }
        }
        waiting.join()
    }

    @Test func aDeadlineEndsTheWait() throws {
        let wakeup = try Wakeup()
        let deadline = MonotonicClock.now + .milliseconds(5)
        while MonotonicClock.now < deadline { #expect(!wakeup.wait(until: deadline)) }
        #expect(!wakeup.wait(until: deadline))
    }

    @Test func theOtherDescriptorEndsTheWaitToo() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let wakeup = try Wakeup()
        var byte: UInt8 = 1
        #expect(write(ends[1], &byte, 1) == 1)
        #expect(!wakeup.wait(or: ends[0], until: nil))
    }

}
