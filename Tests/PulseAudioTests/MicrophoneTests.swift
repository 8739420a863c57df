import MediaCore
import PulseAudio
import TestSupport
import Testing

@Suite(.serialized) struct MicrophoneTests {
    @Test func defaultMicrophoneIsHeard() throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let microphone = Microphone(server: server.address)
        let recording = Recording()
        try microphone.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
        defer { microphone.stop() }
        let state = try #require(recording.wait { $0.moments.count >= 30 })
        #expect(share(of: 440, in: Array(state.samples.suffix(20 * 960))) > 0.9)
    }

    @Test func unknownMicrophoneNamesThoseThatExist() throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let microphone = Microphone(source: "headset", server: server.address)
        let failure = #expect(throws: SourceFailure.self) {
            try microphone.start(handler: { _, _ in }, ended: { _ in })
        }
        #expect(failure?.code == .noSuchDevice)
        #expect(failure?.message.contains("headset") == true)
        #expect(failure?.remedy.contains("mic") == true)
    }

    @Test func machineWithoutMicrophoneSaysSo() throws {
        let server = try PulseAudioServer()
        let failure = #expect(throws: SourceFailure.self) {
            try Microphone(server: server.address).start(handler: { _, _ in }, ended: { _ in })
        }
        #expect(failure?.code == .noSuchDevice)
    }

    @Test func unpluggedMicrophoneEndsOnce() throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let microphone = Microphone(source: "mic", server: server.address)
        let recording = Recording()
        try microphone.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
        defer { microphone.stop() }
        #expect(recording.wait { $0.moments.count >= 5 } != nil)
        try server.control("unload-module", "module-sine-source")
        let state = try #require(recording.wait { !$0.failures.isEmpty })
        #expect(state.failures.map(\.code) == [.deviceGone])
    }

    /// Whether anything records at the server.
    private func isRecorded(_ server: PulseAudioServer) throws -> Bool {
        let text = try Program("pactl", ["--server", server.address, "list", "short", "source-outputs"]).finish()
        return text.contains { !$0.isWhitespace }
    }

    @Test func aHeldMicrophoneIsNotOpenAndComesBack() throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let microphone = Microphone(server: server.address)
        let recording = Recording()
        try microphone.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
        defer { microphone.stop() }
        for _ in 0..<3 {
            #expect(recording.wait { $0.moments.count >= 5 } != nil)
            #expect(try isRecorded(server))
            microphone.setHeld(true)
            #expect(try eventually { try !isRecorded(server) })
            recording.forget()
            microphone.setHeld(false)
        }
        let state = try #require(recording.wait { $0.moments.count >= 30 })
        #expect(share(of: 440, in: Array(state.samples.suffix(20 * 960))) > 0.9)
        #expect(state.failures.isEmpty)
    }

    @Test func aMicrophoneThatIsHeldAtItsStartOpensLater() throws {
        let server = try PulseAudioServer(modules: ["module-sine-source source_name=mic frequency=440"])
        let microphone = Microphone(server: server.address, isPersistent: true)
        let recording = Recording()
        microphone.setHeld(true)
        try microphone.start(handler: { recording.add($0, $1) }, ended: { recording.end($0) })
        #expect(try !isRecorded(server))
        microphone.setHeld(false)
        #expect(recording.wait { $0.moments.count >= 5 } != nil)
        // It ends while a hold is under way.
        microphone.setHeld(true)
        microphone.stop()
        #expect(try eventually { try !isRecorded(server) })
    }
}
