import LinuxRuntime
import MediaCore
import Testing

@testable import InAppCapture

/// Audio that an app hands in.
@Suite struct InAppAudioTests {
    private final class Packets: Sendable {
        let samples = Monitor<[Int16]>([])

        func start(_ audio: InAppAudio) throws {
            try audio.start(
                handler: { [samples] packet, _ in samples.change { $0 += packet } }, ended: { _ in })
        }

        /// Waits 5 s at most until this many samples have come.
        func wait(_ count: Int) -> [Int16]? {
            samples.wait(until: MonotonicClock.now + .seconds(5)) { $0.count >= count ? $0 : nil }
        }
    }

    @Test func samplesComeInPacketsOfTenMilliseconds() throws {
        let (audio, packets) = (InAppAudio(name: "Budget"), Packets())
        try packets.start(audio)
        let samples = (0..<2_000).map { Int16($0) }
        for start in stride(from: 0, to: 2_000, by: 100) {
            samples[start..<start + 100].withUnsafeBufferPointer { audio.submit($0) }
        }
        // The rest of 80 samples is less than a packet.
        #expect(packets.wait(1_920) == Array(samples[..<1_920]))
        audio.stop()
    }

    @Test func audioThatNobodyTakesIsDroppedOldestFirst() throws {
        let (audio, packets) = (InAppAudio(name: "Budget"), Packets())
        try packets.start(audio)
        let long = (0..<960 * 50).map { Int16($0 % 960) }
        long.withUnsafeBufferPointer { audio.submit($0) }
        let samples = try #require(packets.wait(960 * 20))
        #expect(samples.count == 960 * 20 && samples.first == 0)
        audio.stop()
        audio.stop()
    }
}
