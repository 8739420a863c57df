import LinuxRuntime
import MediaCore
import PulseAudio
import TestSupport
import Testing

@testable import ShareKit

@Suite(.serialized, .timeLimit(.minutes(1)))
struct SoundSourceTests {
    @Test func applicationsOutputsAndMicrophonesAreListed() async throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let radio = try server.playTone(700, seconds: 30, application: "Radio")
        defer { radio.kill() }
        _ = try server.playback(of: "Radio")
        let sources = try await SoundSource.available(server: server.address)
        #expect(sources.map(\.kind) == [.application, .output, .microphone])
        #expect(sources.map(\.id) == ["pacat", "screen", "mic"])
        #expect(sources.first?.name == "Radio" && sources.first?.isPlaying == true)
    }

    @Test func withoutAServerTheErrorSaysSo() async {
        let failure = await #expect(throws: ShareKitError.self) {
            try await SoundSource.available(server: "unix:/nonexistent/native")
        }
        #expect(failure?.code == .noSoundServer && failure?.remedy.contains("PulseAudio") == true)
    }

    @Test func theMicrophonesLevelIsThatOfTheCapture() async throws {
        let (microphone, collector) = (FakeMicrophone(), SampleCollector())
        let source = try ApplicationSource(name: "test", width: 64, height: 48)
        let recorder = ScreenRecorder(source, framesPerSecond: 60, makeMicrophone: { microphone }) { _ in true }
        #expect(recorder.microphoneLevel == nil)
        try await recorder.setMicrophoneEnabled(true)
        try await recorder.startCapture { collector.add($0) }
        #expect(recorder.microphoneLevel == nil)
        microphone.emit(16_384)
        let level = try #require(recorder.microphoneLevel)
        #expect(level < -6 && level > -16, "\(level)")
        try await recorder.setMicrophoneEnabled(false)
        #expect(recorder.microphoneLevel == nil)
        await recorder.stopCapture()
    }
}
