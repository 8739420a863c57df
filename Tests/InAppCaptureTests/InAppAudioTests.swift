import LinuxRuntime
import MediaCore
import Testing

@testable import InAppCapture

/// Audio that an app hands in.
@Suite struct InAppAudioTests {
    private final class Packets: Sendable {
        let samples = Monitor<[Int16]>([])
        let instants = Monitor<[MediaInstant]>([])

        func start(_ audio: InAppAudioSource) throws {
            try audio.start(
                handler: { [samples, instants] packet, instant in
                    instants.change { $0.append(instant) }
                    samples.change { $0 += packet }
                }, ended: { _ in })
        }

        /// Waits 20 s at most until this many samples have come.
        func wait(_ count: Int) -> [Int16]? {
            samples.wait(until: MonotonicClock.now + .seconds(20)) { $0.count >= count ? $0 : nil }
        }
    }

    @Test func samplesComeInPacketsOfTenMilliseconds() throws {
        let (audio, packets) = (InAppAudio(name: "Budget"), Packets())
        let source = audio.makeSource()
        try packets.start(source)
        let samples = (0..<2_000).map { Int16($0) }
        for start in stride(from: 0, to: 2_000, by: 100) {
            samples[start..<start + 100].withUnsafeBufferPointer { audio.submit($0) }
        }
        // The rest of 80 samples is less than a packet.
        #expect(packets.wait(1_920) == Array(samples[..<1_920]))
        source.stop()
    }

    @Test func audioThatNobodyTakesIsDroppedOldestFirst() throws {
        let (audio, packets) = (InAppAudio(name: "Budget"), Packets())
        let source = audio.makeSource()
        try packets.start(source)
        let long = (0..<960 * 50).map { Int16($0 % 960) }
        long.withUnsafeBufferPointer { audio.submit($0) }
        let samples = try #require(packets.wait(960 * 20))
        #expect(samples.count == 960 * 20 && samples.first == 0)
        source.stop()
        source.stop()
    }

    @Test func eachConsumerGetsAllSamples() throws {
        let audio = InAppAudio(name: "Budget")
        let consumers = (0..<2).map { _ in (audio.makeSource(), Packets()) }
        for (source, packets) in consumers { try packets.start(source) }
        let samples = (0..<1_920).map { Int16($0) }
        samples.withUnsafeBufferPointer { audio.submit($0) }
        for (_, packets) in consumers { #expect(packets.wait(1_920) == samples) }
        // The first one stops; the other goes on.
        consumers[0].0.stop()
        samples.withUnsafeBufferPointer { audio.submit($0) }
        #expect(consumers[1].1.wait(3_840)?.count == 3_840)
        #expect(consumers[0].1.samples.with { $0.count } == 1_920)
        consumers[1].0.stop()
    }

    @Test func aStoppedSourceStartsWithoutOldAudio() throws {
        let (audio, packets) = (InAppAudio(name: "Budget"), Packets())
        let source = audio.makeSource()
        try packets.start(source)
        [Int16](repeating: 1, count: 500).withUnsafeBufferPointer { audio.submit($0) }
        source.stop()
        try packets.start(source)
        [Int16](repeating: 2, count: 960).withUnsafeBufferPointer { audio.submit($0) }
        #expect(packets.wait(960) == [Int16](repeating: 2, count: 960))
        source.stop()
    }

    // MARK: Instants, without threads

    private func append(_ count: Int, at milliseconds: Int, to buffer: inout InAppAudioBuffer) {
        [Int16](repeating: 0, count: count).withUnsafeBufferPointer {
            buffer.append($0, at: MediaInstant(nanoseconds: 0) + .milliseconds(milliseconds))
        }
    }

    private func takeAll(_ buffer: inout InAppAudioBuffer) -> [Double] {
        var packet = [Int16](repeating: 0, count: InAppAudioBuffer.packet)
        var instants: [Double] = []
        while let instant = buffer.take(&packet) { instants.append(Double(instant.nanoseconds) / 1_000_000) }
        return instants
    }

    @Test func jitterDoesNotShowInTheInstants() {
        var buffer = InAppAudioBuffer(capacity: .milliseconds(200))
        var instants: [Double] = []
        for (index, jitter) in [0, 9, -3, 8, 0, 7, 2, 9].enumerated() {
            append(960, at: 1_000 + 10 * index + jitter, to: &buffer)
            instants += takeAll(&buffer)
        }
        #expect(instants.count == 8)
        for (a, b) in zip(instants, instants.dropFirst()) { #expect(abs(b - a - 10) < 0.3) }
    }

    /// A remainder of less than a packet waits while the app is silent.
    @Test func aGapStartsTheInstantsAnew() {
        var buffer = InAppAudioBuffer(capacity: .milliseconds(200))
        append(960 + 480, at: 1_000, to: &buffer)
        #expect(takeAll(&buffer) == [1_000])
        append(960, at: 5_000, to: &buffer)
        #expect(takeAll(&buffer) == [4_995])
    }

    /// The app's clock is slow by a thousandth, for a minute.
    @Test func theInstantsFollowTheClock() {
        var buffer = InAppAudioBuffer(capacity: .milliseconds(200))
        var last = 0.0
        for index in 0..<6_000 {
            append(960, at: 1_000 + index * 10 + index / 100, to: &buffer)
            last = takeAll(&buffer).last ?? last
        }
        #expect(abs(last - (1_000 + 5_999 * 10 + 59)) < 3)
    }
}
