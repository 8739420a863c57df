import LinuxRuntime
import MediaCore
import PulseAudio
import TestSupport
import Testing

@testable import ShareKit

/// The microphone of a capture.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct CaptureMicrophoneTests {
    private func source() throws -> ApplicationSource {
        try ApplicationSource(name: "Budget", width: 64, height: 48)
    }

    @Test func theMicrophoneIsSwitchedWhileTheCaptureRuns() async throws {
        let (microphone, collector) = (FakeMicrophone(), SampleCollector())
        let requests = Monitor<[Bool]>([])
        let recorder = ScreenRecorder(try source(), framesPerSecond: 60, makeMicrophone: { microphone }) { request in
            requests.change { $0.append(request.withMicrophone) }
            return true
        }
        try await recorder.startCapture { collector.add($0) }
        #expect(!microphone.isRunning && !recorder.isMicrophoneEnabled)
        for round in 1...2 {
            try await recorder.setMicrophoneEnabled(true)
            #expect(microphone.isRunning && recorder.isMicrophoneEnabled)
            microphone.emit(Int16(round))
            #expect(await collector.wait { $0.microphone.count == round })
            try await recorder.setMicrophoneEnabled(false)
            #expect(!microphone.isRunning && !recorder.isMicrophoneEnabled)
        }
        // Asked for the screen, and once for the microphone.
        #expect(requests.with { $0 } == [false, true])
        try await recorder.setMicrophoneEnabled(true)
        await recorder.stopCapture()
        #expect(!microphone.isRunning && recorder.isMicrophoneEnabled)
        // It is a setting: the next capture has it from the start.
        try await recorder.startCapture { collector.add($0) }
        #expect(microphone.isRunning)
        await recorder.stopCapture()
        #expect(collector.content.with { $0.microphone.map { $0.samples[0] } } == [1, 2])
    }

    @Test func theUserMayAllowTheScreenAlone() async throws {
        let microphone = FakeMicrophone()
        let recorder = ScreenRecorder(try source(), framesPerSecond: 60, makeMicrophone: { microphone }) { request in
            !request.withMicrophone
        }
        try await recorder.startCapture { _ in }
        let failure = await #expect(throws: ShareKitError.self) { try await recorder.setMicrophoneEnabled(true) }
        #expect(failure?.code == .declined)
        #expect(recorder.isRecording && !recorder.isMicrophoneEnabled && microphone.starts == 0)
        await recorder.stopCapture()
    }

    @Test func aMicrophoneThatGoesLeavesTheCapture() async throws {
        let microphone = FakeMicrophone()
        let recorder = ScreenRecorder(try source(), framesPerSecond: 60, makeMicrophone: { microphone }) { _ in true }
        try await recorder.setMicrophoneEnabled(true)
        try await recorder.startCapture { _ in }
        microphone.unplug()
        let state = try #require(await state(of: recorder) { !$0.isMicrophoneEnabled })
        #expect(state.isRecording && state.failure?.code == .noMicrophone)
        // Plugged in again.
        try await recorder.setMicrophoneEnabled(true)
        #expect(microphone.starts == 2 && microphone.isRunning)
        await recorder.stopCapture()
    }

    @Test func withoutASoundServerTheCaptureGoesOnWithoutMicrophone() async throws {
        let (source, collector) = (try source(), SampleCollector())
        let recorder = ScreenRecorder(
            source, framesPerSecond: 60, makeMicrophone: { Microphone(server: "unix:/nonexistent/native") }
        ) { _ in true }
        try await recorder.setMicrophoneEnabled(true)
        try await recorder.startCapture { collector.add($0) }
        let state = try #require(await state(of: recorder) { $0.failure != nil })
        #expect(state.isRecording && !state.isMicrophoneEnabled && state.failure?.code == .noMicrophone)
        #expect(state.failure?.remedy.isEmpty == false)
        let failure = await #expect(throws: ShareKitError.self) { try await recorder.setMicrophoneEnabled(true) }
        #expect(failure?.code == .noMicrophone)
        try source.fill(255)
        #expect(await collector.wait { $0.video.count == 1 })
        await recorder.stopCapture()
    }

    @Test func aRealMicrophoneIsHeard() async throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let (address, collector) = (server.address, SampleCollector())
        let recorder = ScreenRecorder(
            try source(), framesPerSecond: 60, makeMicrophone: { Microphone(server: address) }
        ) { _ in true }
        try await recorder.startCapture { collector.add($0) }
        try await recorder.setMicrophoneEnabled(true)
        #expect(await collector.wait { $0.microphone.count >= 30 })
        try await recorder.setMicrophoneEnabled(false)
        let off = Duration(MonotonicClock.now)
        // What was captured before is still handed out; nothing follows the end of the capture.
        await recorder.stopCapture()
        let content = collector.content.with { $0 }
        #expect(content.microphone.allSatisfy { $0.samples.count == 960 })
        #expect(content.microphone.suffix(10).allSatisfy { $0.samples.contains { $0 > 5_000 } })
        // This source delivers some of its audio ahead of time, so that the instants have steps at first.
        #expect(content.microphone.allSatisfy { $0.time > off - .seconds(15) && $0.time < off + .seconds(2) })
        withExtendedLifetime(server) {}
    }
}
