import MediaCore
import TestSupport
import Testing

@testable import PulseAudio

/// A host's sources: they outlive their server and their devices.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PersistentCaptureTests {
    private func start(_ capture: PulseCapture) throws -> Recording {
        let recording = Recording()
        capture.onChange = { recording.note($0) }
        try capture.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
        return recording
    }

    @Test(arguments: [CaptureTarget.systemAudio, .application("Radio"), .microphone("mic")])
    func soundComesBackWithTheServer(_ target: CaptureTarget) throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=700"])
        let capture = PulseCapture(target, server: server.address, isPersistent: true)
        let radio = try server.playTone(700, seconds: 60, application: "Radio")
        _ = try server.playback(of: "Radio")
        let recording = try start(capture)
        defer { capture.stop() }
        #expect(recording.wait { $0.moments.count >= 10 } != nil)
        server.kill()
        radio.kill()
        let state = try #require(recording.wait { !$0.changes.isEmpty })
        guard case .interrupted(let failure)? = state.changes.first else {
            Issue.record("\(state.changes)")
            return
        }
        #expect(failure.code == .deviceGone && failure.message.contains("sound server is gone"))
        #expect(failure.remedy.contains("shared again"))
        recording.forget()
        try server.restart()
        let again = try server.playTone(700, seconds: 60, application: "Radio")
        defer { again.kill() }
        let back = try #require(
            recording.wait { $0.moments.count >= 30 && share(of: 700, in: Array($0.samples.suffix(9_600))) > 0.9 })
        #expect(back.failures.isEmpty)
        #expect(back.changes.contains(.resumed(capture.summary)), "\(back.changes)")
    }

    @Test func aServerThatStartsLaterIsFound() throws {
        let server = try PulseAudioServer()
        server.kill()
        let capture = PulseCapture(.systemAudio, server: server.address, isPersistent: true)
        let recording = try start(capture)
        defer { capture.stop() }
        guard case .interrupted(let failure)? = recording.wait({ !$0.changes.isEmpty })?.changes.first else {
            Issue.record("not interrupted")
            return
        }
        #expect(failure.code == .noAudioServer)
        try server.restart()
        #expect(recording.wait { $0.changes.count == 2 && $0.failures.isEmpty } != nil)
        #expect(capture.summary.hasPrefix("what plays on "))
    }

    @Test func anUnpluggedMicrophoneIsUsedAgain() throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let capture = PulseCapture(.microphone("mic"), server: server.address, isPersistent: true)
        let recording = try start(capture)
        defer { capture.stop() }
        #expect(recording.wait { $0.moments.count >= 5 } != nil)
        try server.control("unload-module", "module-sine-source")
        guard case .interrupted(let failure)? = recording.wait({ !$0.changes.isEmpty })?.changes.first else {
            Issue.record("not interrupted")
            return
        }
        #expect(failure.code == .deviceGone && failure.message == "There is no microphone \"mic\".")
        recording.forget()
        try server.control("load-module", "module-sine-source", "source_name=mic", "frequency=440")
        #expect(recording.wait { $0.moments.count >= 10 && $0.changes.count == 2 } != nil)
        #expect(recording.wait { $0.failures.isEmpty } != nil)
    }

    @Test func stoppingWhileTheServerIsAwaitedIsFast() throws {
        let capture = PulseCapture(.systemAudio, server: "unix:/nonexistent/native", isPersistent: true)
        let recording = try start(capture)
        #expect(recording.wait { $0.changes.count == 1 } != nil)
        capture.stop()
        #expect(recording.wait { $0.failures.isEmpty } != nil)
    }
}
