import MediaCore
import OpusCodec
import PixelConversion
import PulseAudio
import Sessions
import TestSource
import X11Capture

/// The sources that a host captures.
extension HostCommand {
    func makeSources() throws -> (any ScreenSource, [AudioInput]) {
        var sound: [AudioInput] = []
        let screen: any ScreenSource
        switch source {
        case .test:
            screen = TestVideoSource()
            if audio == .system { sound.append(input(.applicationAudio, TestTone())) }
        case .screen:
            do throws(SourceFailure) {
                screen = try X11Screen(display: display, converter: YUVConverter())
            } catch {
                throw Complaint(sentence: error.message, remedy: error.remedy, status: .noDisplay)
            }
            if audio == .system { sound.append(input(.applicationAudio, SystemAudio())) }
        }
        if let mic { sound.append(input(.microphoneAudio, Microphone(source: mic.isEmpty ? nil : mic))) }
        return (screen, sound)
    }

    private func input(_ kind: MediaTrackKind, _ source: any AudioSource) -> AudioInput {
        let isVoice = kind == .microphoneAudio
        return AudioInput(kind: kind, source: source, hasSilenceSuppression: isVoice) { () throws(CodecFailure) in
            try OpusFrameEncoder(isVoice ? .microphone : .systemAudio)
        }
    }
}
