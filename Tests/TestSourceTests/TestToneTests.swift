import Foundation
import MediaCore
import Synchronization
import TestSource
import Testing

@Suite struct TestToneTests {
    /// Collects packets from the audio thread and signals when there are enough.
    private final class Ear: Sendable {
        let heard = Mutex<(samples: [Int16], moments: [MediaInstant])>(([], []))
        let enough = DispatchSemaphore(value: 0)
        let wanted: Int

        init(wanted: Int) { self.wanted = wanted }

        func hear(_ samples: UnsafeBufferPointer<Int16>, _ moment: MediaInstant) {
            heard.withLock {
                $0.samples += samples
                $0.moments.append(moment)
                if $0.moments.count == wanted { enough.signal() }
            }
        }
    }

    @Test func packetsAreTenMillisecondsOfTheTwoTones() throws {
        let tone = TestTone()
        let ear = Ear(wanted: 125)
        try tone.start(handler: { ear.hear($0, $1) }, ended: { _ in })
        #expect(ear.enough.wait(timeout: .now() + 20) == .success)
        tone.stop()
        let (samples, moments) = ear.heard.withLock { $0 }
        #expect(samples.count == moments.count * 960)
        for (a, b) in zip(moments, moments.dropFirst()) { #expect(b - a == .milliseconds(10)) }
        // The first whole second of the clock.
        let second = try #require(moments.firstIndex { $0.nanoseconds % 1_000_000_000 == 0 }) * 480
        // 100 ms of beep on both channels, then 440 Hz and 660 Hz: 44 and 66 upward zero crossings in 100 ms.
        #expect(crossings(samples, channel: 0, frames: second + 4_800..<second + 9_600) == 44)
        #expect(crossings(samples, channel: 1, frames: second + 4_800..<second + 9_600) == 66)
        #expect(crossings(samples, channel: 0, frames: second..<second + 4_800) == 100)
        #expect(samples[second * 2..<(second + 4_800) * 2].max() == 12_000)
    }

    @Test func nothingIsHeardAfterStop() throws {
        let tone = TestTone()
        let ear = Ear(wanted: 1)
        try tone.start(handler: { ear.hear($0, $1) }, ended: { _ in })
        #expect(ear.enough.wait(timeout: .now() + 20) == .success)
        tone.stop()
        tone.stop()
        let count = ear.heard.withLock { $0.moments.count }
        let again = Ear(wanted: 3)
        try tone.start(handler: { again.hear($0, $1) }, ended: { _ in })
        #expect(again.enough.wait(timeout: .now() + 20) == .success)
        tone.stop()
        #expect(ear.heard.withLock { $0.moments.count } == count)
    }

    private func crossings(_ samples: [Int16], channel: Int, frames: Range<Int>) -> Int {
        frames.count { frame in
            let before = frame == 0 ? 0 : samples[(frame - 1) * 2 + channel]
            return before <= 0 && samples[frame * 2 + channel] > 0
        }
    }
}
