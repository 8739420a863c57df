import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import PulseAudio

@Suite(.serialized) struct SystemAudioTests {
    private func start(_ capture: PulseCapture, _ recording: Recording) throws {
        capture.onCork = { recording.cork($0) }
        try capture.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
    }

    @Test func toneThatPlaysArrives() throws {
        let server = try PulseAudioServer()
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        defer { capture.stop() }
        #expect(capture.isCorked)
        #expect(capture.summary.hasPrefix("what plays on "))
        let player = try server.playTone(1_000, seconds: 20)
        defer { player.kill() }
        // Half a second without a gap is enough, as the player is sometimes late on a loaded machine.
        let state = try #require(
            recording.wait { state in
                let moments = state.moments.suffix(50)
                return state.moments.count >= 60
                    && zip(moments, moments.dropFirst()).allSatisfy { abs(($1 - $0).inMilliseconds - 10) < 5 }
                    && share(of: 1_000, in: Array(state.samples.suffix(50 * 960))) > 0.95
            })
        #expect(share(of: 1_300, in: Array(state.samples.suffix(50 * 960))) < 0.01)
    }

    @Test func momentsAreCloseToTheTimeOfPlaying() throws {
        let server = try PulseAudioServer()
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try capture.start(
            handler: { packet, moment in
                // The age of the packet is recorded in place of its capture time.
                recording.add(packet, MediaInstant(nanoseconds: (MonotonicClock.now - moment).nanoseconds))
            }, ended: { recording.end($0) })
        defer { capture.stop() }
        // An idle null sink has rendered two seconds ahead, and is late by as much when playback begins.
        let player = try server.playTone(500, seconds: 30)
        defer { player.kill() }
        let state = try #require(
            recording.wait { state in
                state.moments.count > 60 && state.moments.suffix(30).allSatisfy { $0.nanoseconds < 150_000_000 }
            })
        #expect(state.moments.suffix(30).allSatisfy { $0.nanoseconds > -60_000_000 })
    }

    /// A null sink has rendered two seconds ahead for a player with a large buffer.
    @Test func whatPlaysAlreadyHasNoHoles() throws {
        let server = try PulseAudioServer()
        let player = try server.playTone(1_000, seconds: 30, latency: 2_000)
        defer { player.kill() }
        _ = try server.playback(of: "pacat")
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        defer { capture.stop() }
        let state = try #require(recording.wait { $0.moments.count >= 400 })
        #expect(state.holes == [])
    }

    @Test func anotherOutputThatPlaysAlreadyHasNoHoles() throws {
        let server = try PulseAudioServer(modules: ["module-null-sink sink_name=other"])
        try server.control("set-default-sink", "screen")
        let player = try server.playTone(700, seconds: 30, sink: "other", latency: 2_000)
        defer { player.kill() }
        _ = try server.playback(of: "pacat")
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        defer { capture.stop() }
        try server.control("set-default-sink", "other")
        let state = try #require(recording.wait { $0.moments.count >= 400 })
        #expect(state.holes == [])
    }

    @Test func whatMovesToTheOutputHasNoHoles() throws {
        let server = try PulseAudioServer(modules: ["module-null-sink sink_name=other"])
        try server.control("set-default-sink", "screen")
        let player = try server.playTone(700, seconds: 30, sink: "other", latency: 2_000)
        defer { player.kill() }
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        defer { capture.stop() }
        try server.control("move-sink-input", server.playback(of: "pacat"), "screen")
        let state = try #require(recording.wait { $0.moments.count >= 400 })
        #expect(state.holes == [])
    }

    @Test func streamSleepsWhileNothingPlays() throws {
        let server = try PulseAudioServer()
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        defer { capture.stop() }
        #expect(capture.isCorked)
        try server.playTone(440, seconds: 0.3).finish()
        #expect(recording.wait { $0.corks == [false, true] } != nil)
        #expect(capture.isCorked)
        recording.forget()
        try server.playTone(880, seconds: 0.5).finish()
        let state = try #require(recording.wait { $0.corks == [false, true, false, true] })
        // The recording contains nothing of the first tone.
        let tone = Array(state.samples.prefix(20 * 960))
        #expect(!tone.isEmpty && share(of: 440, in: tone) < 0.1)
    }

    @Test func silenceIsNotDelivered() throws {
        let server = try PulseAudioServer()
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        defer { capture.stop() }
        try server.playTone(0, seconds: 0.5).finish()
        let state = try #require(recording.wait { $0.corks == [false, true] })
        #expect(state.samples.isEmpty)
    }

    @Test func anotherDefaultOutputIsFollowed() throws {
        let server = try PulseAudioServer(modules: ["module-null-sink sink_name=other"])
        try server.control("set-default-sink", "screen")
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        defer { capture.stop() }
        let player = try server.playTone(700, seconds: 20, sink: "other")
        defer { player.kill() }
        try server.control("set-default-sink", "other")
        let state = try #require(
            recording.wait { $0.moments.count >= 30 && share(of: 700, in: Array($0.samples.suffix(20 * 960))) > 0.9 })
        #expect(state.failures.isEmpty)
    }

    @Test func killedServerEndsOnce() throws {
        let server = try PulseAudioServer()
        let capture = PulseCapture(.systemAudio, server: server.address)
        let recording = Recording()
        try start(capture, recording)
        server.kill()
        let state = try #require(recording.wait { !$0.failures.isEmpty })
        #expect(state.failures.first?.code == .deviceGone)
        capture.stop()
        #expect(recording.wait { $0.failures.count == 1 } != nil)
    }

    @Test func missingServerIsNamed() throws {
        let sound = SystemAudio(server: "unix:/nonexistent/native")
        let failure = #expect(throws: SourceFailure.self) { try sound.start(handler: { _, _ in }, ended: { _ in }) }
        #expect(failure?.code == .noAudioServer)
        #expect(failure?.remedy.isEmpty == false)
    }

    @Test func captureCanBeStartedAgain() throws {
        let server = try PulseAudioServer()
        let capture = PulseCapture(.systemAudio, server: server.address)
        for _ in 0..<3 {
            let recording = Recording()
            try start(capture, recording)
            let player = try server.playTone(600, seconds: 5)
            #expect(recording.wait { $0.moments.count >= 10 } != nil)
            capture.stop()
            player.kill()
        }
    }
}
