import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import PulseAudio

/// The sound of one application, and of all but the viewers, with both servers that people have.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ApplicationAudioTests {
    enum Kind: CaseIterable {
        case pulseAudio, pipeWire

        func start() throws -> any SoundServer {
            switch self {
            case .pulseAudio: try PulseAudioServer()
            case .pipeWire: try PipeWirePulseServer()
            }
        }
    }

    private func start(_ target: CaptureTarget, _ server: any SoundServer) throws -> (PulseCapture, Recording) {
        let capture = PulseCapture(target, server: server.address)
        let recording = Recording()
        capture.onChange = { recording.note($0) }
        try capture.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
        return (capture, recording)
    }

    /// Waits until the last 0.3 s have these tones, and not those.
    private func hears(_ recording: Recording, _ tones: [Double], without others: [Double]) -> Bool {
        recording.forget()
        return recording.wait { state in
            guard state.moments.count >= 40 else { return false }
            let end = Array(state.samples.suffix(30 * 960))
            return tones.allSatisfy { share(of: $0, in: end) > 0.8 / Double(tones.count) }
                && others.allSatisfy { share(of: $0, in: end) < 0.01 }
        } != nil
    }

    @Test(arguments: Kind.allCases) func onlyTheApplicationIsHeard(_ kind: Kind) throws {
        let server = try kind.start()
        let players = [
            try server.playTone(700, seconds: 40, application: "Radio"),
            try server.playTone(1_100, seconds: 40, application: "Game"),
        ]
        defer { for player in players { player.kill() } }
        _ = try server.playback(of: "Radio")
        _ = try server.playback(of: "Game")
        let (capture, recording) = try start(.application("radio"), server)
        defer { capture.stop() }
        #expect(hears(recording, [700], without: [1_100]))
        #expect(capture.summary == "what Radio plays")
        #expect(recording.wait { $0.changes.isEmpty && $0.failures.isEmpty } != nil)
    }

    @Test(arguments: Kind.allCases) func theApplicationIsFollowedFromItsStartToItsReturn(_ kind: Kind) throws {
        let server = try kind.start()
        try server.control("load-module", "module-null-sink", "sink_name=other")
        let game = try server.playTone(1_100, seconds: 60, application: "Game")
        defer { game.kill() }
        _ = try server.playback(of: "Game")
        let (capture, recording) = try start(.application("Radio"), server)
        defer { capture.stop() }
        let notice = try #require(recording.wait { !$0.changes.isEmpty }?.changes.first)
        guard case .notice(let sentence) = notice else {
            Issue.record("\(notice)")
            return
        }
        #expect(sentence.contains("\"Radio\" plays nothing") && sentence.contains("These play now: Game."))

        let first = try server.playTone(700, seconds: 40, application: "Radio")
        #expect(hears(recording, [700], without: [1_100]))
        #expect(recording.wait { $0.changes.last == .resumed("what Radio plays") } != nil)
        // Another stream of the application is mixed in.
        let second = try server.playTone(300, seconds: 40, application: "Radio")
        #expect(hears(recording, [700, 300], without: [1_100]))
        second.kill()
        #expect(hears(recording, [700], without: [1_100, 300]))
        try server.control("move-sink-input", try server.playback(of: "Radio"), "other")
        #expect(hears(recording, [700], without: [1_100]))
        // Between two streams nothing else is heard in its place.
        first.kill()
        recording.forget()
        let again = try server.playTone(900, seconds: 40, application: "Radio")
        defer { again.kill() }
        #expect(hears(recording, [900], without: [1_100]))
        let all = try #require(recording.wait { $0.moments.count >= 20 }).samples
        #expect(share(of: 1_100, in: all) < 0.01)
        #expect(recording.wait { $0.failures.isEmpty } != nil)
    }

    @Test(arguments: Kind.allCases) func nothingIsHeardAfterTheApplicationEnds(_ kind: Kind) throws {
        let server = try kind.start()
        let radio = try server.playTone(700, seconds: 40, application: "Radio")
        let (capture, recording) = try start(.application("radio"), server)
        defer { capture.stop() }
        #expect(hears(recording, [700], without: [1_100]))
        let game = try server.playTone(1_100, seconds: 40, application: "Game")
        defer { game.kill() }
        _ = try server.playback(of: "Game")
        radio.kill()
        // Another capture of the game tells how much time has passed.
        let (other, clock) = try start(.application("Game"), server)
        defer { other.stop() }
        #expect(clock.wait { $0.moments.count >= 20 } != nil)
        recording.forget()
        clock.forget()
        #expect(clock.wait { $0.moments.count >= 100 } != nil)
        #expect(recording.wait { $0.moments.isEmpty && $0.failures.isEmpty } != nil)
        #expect(capture.isCorked)
    }

    @Test(arguments: Kind.allCases) func viewersAreNeverPartOfTheSystemAudio(_ kind: Kind) throws {
        let server = try kind.start()
        let (capture, recording) = try start(.systemAudio, server)
        defer { capture.stop() }
        // A viewer that plays alone is not heard.
        let viewer = try PulseAudioSink(server: server.address)
        let feeding = Monitor(true)
        let feeder = try NamedThread.start("feeder") {
            var phase = 0
            while feeding.wait(until: MonotonicClock.now + .milliseconds(10), { $0 ? nil : () }) == nil {
                let samples = (0..<960).map { index in
                    Int16(9_000 * sin(2 * Double.pi * Double(1_300 * (phase + index / 2)) / 48_000))
                }
                phase += 480
                samples.withUnsafeBufferPointer { viewer.play($0) }
            }
        }
        defer {
            feeding.change { $0 = false }
            feeder.join()
            viewer.close()
        }
        // With a radio, the radio alone is.
        let radio = try server.playTone(700, seconds: 40, application: "Radio")
        defer { radio.kill() }
        #expect(hears(recording, [700], without: [1_300]))
        #expect(!viewer.isCorked)
        let game = try server.playTone(300, seconds: 40, application: "Game")
        #expect(hears(recording, [700, 300], without: [1_300]))
        game.kill()
        #expect(hears(recording, [700], without: [1_300, 300]))
        #expect(recording.wait { $0.failures.isEmpty } != nil)
    }

    /// SDL's and ALSA's streams are marked by the environment of the process.
    @Test(arguments: Kind.allCases) func aMarkedStreamOfAnotherProgramIsLeftOut(_ kind: Kind) throws {
        let server = try kind.start()
        let viewer = try server.playTone(
            1_300, seconds: 40, application: "share", properties: ["\(OwnPlayback.property)=\(OwnPlayback.value)"])
        let radio = try server.playTone(700, seconds: 40, application: "Radio")
        defer { for player in [viewer, radio] { player.kill() } }
        _ = try server.playback(of: "share")
        let (capture, recording) = try start(.systemAudio, server)
        defer { capture.stop() }
        #expect(hears(recording, [700], without: [1_300]))
        viewer.kill()
        #expect(hears(recording, [700], without: [1_300]))
    }

    @Test(arguments: Kind.allCases) func theListNamesWhatPlays(_ kind: Kind) throws {
        let server = try kind.start()
        let radio = try server.playTone(700, seconds: 40, application: "Radio", properties: ["media.name=News"])
        defer { radio.kill() }
        _ = try server.playback(of: "Radio")
        let sources = try SoundSources(server: server.address)
        let application = try #require(sources.applications.first)
        #expect(sources.applications.count == 1 && application.name == "Radio" && application.program == "pacat")
        #expect(application.titles == ["News"] && application.processID == Int(radio.processID))
        #expect(sources.outputs.map(\.name) == ["screen"] && sources.outputs.first?.isDefault == true)
        #expect(sources.microphones.isEmpty)
        let failure = #expect(throws: SourceFailure.self) { try SoundSources(server: "unix:/nonexistent/native") }
        #expect(failure?.code == .noAudioServer)
    }
}
