import Foundation
import TestSupport
import Testing

/// What `share host --audio` and `--mic` share, with a sound server of the test.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AudioVerbTests {
    private func peak(_ viewer: ShareProcess, _ isExpected: (Int) -> Bool) -> Bool {
        viewer.event("statistics") { ($0["audioPeak"] as? Int).map(isExpected) ?? false } != nil
    }

    /// The audio tracks in `share status`.
    private func tracks(_ host: HostedScreen) throws -> [[String: Any]] {
        let process = try ShareProcess(["status", "--json"], in: host.folder)
        #expect(process.exitCode() == 0)
        let status = try JSONSerialization.jsonObject(with: Data((process.lines.first ?? "").utf8)) as? [String: Any]
        return try #require(status?["audio"] as? [[String: Any]])
    }

    @Test func oneApplicationIsSharedWhenItPlays() throws {
        let sound = try PulseAudioServer()
        let game = try sound.playTone(1_000, seconds: 60, application: "Game")
        defer { game.kill() }
        _ = try sound.playback(of: "Game")
        let host = try HostedScreen(
            ["--source", "test", "--audio", "app:radio"], environment: ["PULSE_SERVER": sound.address])
        #expect(host.process.waitForError("\"radio\" plays nothing at present"))
        #expect(host.process.waitForError("These play now: Game."))
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(peak(viewer) { $0 == 0 })
        let radio = try sound.playTone(440, seconds: 60, application: "Radio")
        #expect(host.process.waitForError("sharing audio: what Radio plays"))
        #expect(peak(viewer) { $0 > 4_000 })
        radio.kill()
        #expect(viewer.isRunning && host.process.isRunning)
    }

    @Test func theMicrophoneHasALevelEvenIfItIsMuted() throws {
        let sound = try PulseAudioServer()
        let voice = try sound.playTone(440, seconds: 60)
        defer { voice.kill() }
        let host = try HostedScreen(
            ["--source", "test", "--audio", "none", "--mic", "screen.monitor"],
            environment: ["PULSE_SERVER": sound.address])
        let viewer = try host.join()
        #expect(peak(viewer) { $0 > 4_000 })
        let mute = try ShareProcess(["mute", "--mic"], in: host.folder)
        #expect(mute.exitCode() == 0)
        _ = try #require(host.process.event("muted"))
        let levels = host.process.event("statistics") { event in
            guard event["muted"] as? [String] == ["microphone"] else { return false }
            let level = (event["levels"] as? [[String: Any]])?.first?["level"] as? Double
            return level.map { (-15...0).contains($0) } ?? false
        }
        #expect(levels != nil)
        let track = try #require(try tracks(host).first)
        #expect(track["muted"] as? Bool == true && (track["level"] as? Double).map { $0 > -15 } == true, "\(track)")
    }

    /// Nothing of the desktop shows an open microphone while nobody may hear it.
    @Test func theMicrophoneIsClosedWhileTheBroadcastIsPausedOrBlanked() throws {
        let sound = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let host = try HostedScreen(
            ["--source", "test", "--audio", "none", "--mic", "mic"], environment: ["PULSE_SERVER": sound.address])
        let viewer = try host.join()
        #expect(peak(viewer) { $0 > 4_000 })
        func isOpen() throws -> Bool {
            try Program("pactl", ["--server", sound.address, "list", "short", "source-outputs"]).finish()
                .contains { !$0.isWhitespace }
        }
        #expect(try isOpen())
        for (begin, end) in [("pause", "resume"), ("blank", "unblank")] {
            let hold = try ShareProcess([begin], in: host.folder)
            #expect(hold.exitCode() == 0)
            #expect(try eventually { try !isOpen() })
            let going = try ShareProcess([end], in: host.folder)
            #expect(going.exitCode() == 0)
            #expect(try eventually { try isOpen() })
        }
        #expect(peak(viewer) { $0 > 4_000 })
        // A picture that stands still has its sound.
        let freeze = try ShareProcess(["freeze"], in: host.folder)
        #expect(freeze.exitCode() == 0)
        #expect(try isOpen())
    }

    @Test func theSessionOutlivesItsSoundServer() throws {
        let sound = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let host = try HostedScreen(
            ["--source", "test", "--audio", "app:Radio", "--mic", "mic"], environment: ["PULSE_SERVER": sound.address])
        let viewer = try host.join()
        #expect(peak(viewer) { $0 > 4_000 })
        sound.kill()
        #expect(host.process.waitForError("the microphone has gone: The sound server is gone"))
        #expect(host.process.waitForError("the audio has gone: The sound server is gone"))
        #expect(try tracks(host).allSatisfy { $0["captured"] as? Bool == false })
        #expect(peak(viewer) { $0 == 0 })
        try sound.restart()
        #expect(host.process.waitForError("sharing audio: ", times: 2))
        #expect(host.process.waitForError("sharing microphone: ", times: 2))
        #expect(try tracks(host).allSatisfy { $0["captured"] as? Bool == true })
        #expect(peak(viewer) { $0 > 4_000 })
        #expect(viewer.isRunning)
    }

    @Test func withoutASoundServerTheHostGoesOn() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "app:Radio", "--mic"])
        #expect(host.process.waitForError("without audio for now. No sound can be recorded"))
        #expect(host.process.waitForError("without microphone for now. No sound can be recorded"))
        let viewer = try host.join()
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
    }

    @Test(arguments: ["app:", "app:  ", "everything", ""]) func wrongAudioIsRefused(_ value: String) throws {
        let process = try ShareProcess(["host", "--accept", "any", "--audio", value], in: TemporaryFolder())
        #expect(process.exitCode() == 64)
        #expect(process.errorText.contains("app:NAME"), "\(process.errorText)")
    }

    /// A viewer's window on the machine of the host would otherwise be an echo.
    @Test func aViewerOnTheSameMachineIsNotShared() throws {
        let sound = try PulseAudioServer()
        let (display, other) = (
            try VirtualDisplay(width: 640, height: 480), try VirtualDisplay(width: 640, height: 480)
        )
        let host = try HostedScreen(["--display", display.name], environment: ["PULSE_SERVER": sound.address])
        let window = try ShareProcess(
            ["join", "--json"], in: TemporaryFolder(),
            environment: ["PULSE_SERVER": sound.address, "SHARE_LINK": host.link, "DISPLAY": other.name])
        let viewer = try host.join()
        _ = try #require(window.event("first-picture"), "\(window.errorText)")
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let tone = try sound.playTone(440, seconds: 60, application: "Radio")
        #expect(peak(window) { $0 > 4_000 }, "\(window.errorText) \(window.lines.suffix(1))")
        #expect(peak(viewer) { $0 > 4_000 })
        // The window plays what it receives.
        _ = try sound.playback(of: "share")
        tone.kill()
        #expect(peak(viewer) { $0 == 0 })
        #expect(peak(window) { $0 == 0 })
    }
}
