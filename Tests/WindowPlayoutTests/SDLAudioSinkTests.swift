import Foundation
import MediaCore
import Testing
import WindowPlayout

// SDL is global to the process, so these tests are serialized with those of the window.
extension VideoWindowTests {
    @Suite struct SDLAudioSinkTests {
        @Test func audioIsTakenAndLatencyIsBounded() throws {
            setenv("SDL_AUDIODRIVER", "dummy", 1)
            let speaker = try SDLAudioSink()
            #expect(speaker.isDeviceOpen)
            for _ in 0..<100 { [Int16](repeating: 7, count: 960).withUnsafeBufferPointer { speaker.play($0) } }
            #expect(speaker.latency > .milliseconds(20))
            #expect(!(speaker.latency > .milliseconds(220)))
            #expect(speaker.droppedSamples > 0)
            speaker.close()
            speaker.close()
            #expect(!speaker.isDeviceOpen)
        }

        @Test func missingAudioOutputIsNamed() {
            setenv("SDL_AUDIODRIVER", "pulseaudio", 1)
            setenv("PULSE_SERVER", "unix:/nonexistent/native", 1)
            let failure = #expect(throws: SourceFailure.self) { try SDLAudioSink() }
            #expect(failure?.code == .noAudioServer)
        }
    }
}
