import Foundation
import MediaCore
import TestSupport
import Testing

@testable import PulseAudio

@Suite(.serialized) struct PulseAudioSinkTests {
    @Test func toneIsHeardAndTheDeviceSleepsAfterwards() throws {
        let server = try PulseAudioServer()
        // System audio leaves it out, so the sink's monitor is recorded as a microphone is.
        let capture = PulseCapture(.microphone("screen.monitor"), server: server.address)
        let recording = Recording()
        let changes = try Program("pactl", ["--server", server.address, "subscribe"])
        let speaker = try PulseAudioSink(server: server.address)
        defer { speaker.close() }
        #expect(speaker.isCorked)
        try capture.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
        defer { capture.stop() }
        // Packets are played every 10 ms, as from the network.
        let tone = Tone(frequency: 800)
        let pace = DispatchSource.makeTimerSource()
        pace.schedule(deadline: .now(), repeating: .milliseconds(10))
        pace.setEventHandler { tone.give(to: speaker) }
        pace.activate()
        let arrives = recording.wait {
            $0.moments.count >= 100 && share(of: 800, in: Array($0.samples.suffix(20 * 960))) > 0.8
        }
        #expect(arrives != nil)
        #expect(!speaker.isCorked)
        pace.cancel()
        let isAsleep = changes.line(seconds: 20) { line in
            line.contains("'change' on sink-input") && speaker.isCorked ? true : nil
        }
        #expect(isAsleep == true)
    }

    @Test func silenceDoesNotWakeTheDevice() throws {
        let server = try PulseAudioServer()
        let speaker = try PulseAudioSink(server: server.address)
        [Int16](repeating: 0, count: 960).withUnsafeBufferPointer { speaker.play($0) }
        #expect(speaker.isCorked)
        speaker.close()
        speaker.close()
    }

    @Test func audioAfterTheServersEndIsDropped() throws {
        let server = try PulseAudioServer()
        let speaker = try PulseAudioSink(server: server.address)
        server.kill()
        for _ in 0..<50 { [Int16](repeating: 9, count: 960).withUnsafeBufferPointer { speaker.play($0) } }
        speaker.close()
    }

    @Test func missingServerIsNamed() throws {
        let failure = #expect(throws: SourceFailure.self) { try PulseAudioSink(server: "unix:/nonexistent/native") }
        #expect(failure?.code == .noAudioServer)
    }
}

/// A continuous tone in packets.
// SAFETY: everything is under the lock.
private final class Tone: @unchecked Sendable {
    private let lock = NSLock()
    private let frequency: Double
    private var frame = 0

    init(frequency: Double) { self.frequency = frequency }

    func give(to speaker: PulseAudioSink) {
        lock.withLock {
            var samples: [Int16] = []
            for _ in 0..<480 {
                let value = Int16(9_000 * sin(2 * Double.pi * frequency * Double(frame) / 48_000))
                samples += [value, value]
                frame += 1
            }
            samples.withUnsafeBufferPointer { speaker.play($0) }
        }
    }
}
