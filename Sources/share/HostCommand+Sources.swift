import CommandSupport
import MediaCore
import PixelConversion
import PulseAudio
import Sessions
import ShareKit
import TestSource
import X11Capture

extension HostCommand {
    /// The sources that a host captures, which it names to its user.
    func makeMedia() throws -> CapturedMedia {
        var sound: [AudioInput] = []
        let screen: any ScreenSource
        switch source {
        case .test:
            screen = TestVideoSource()
        case .screen:
            do throws(SourceFailure) {
                screen = try X11Screen(display: display, converter: YUVConverter())
            } catch {
                throw Complaint(sentence: error.message, remedy: error.remedy, status: .noDisplay)
            }
        }
        switch audio {
        case .system:
            let played: any AudioSource = if source == .test { TestTone() } else { SystemAudio(isPersistent: true) }
            sound.append(AudioInput(.applicationAudio, played))
        case .application(let name):
            sound.append(AudioInput(.applicationAudio, ApplicationAudio(name, isPersistent: true)))
        case .none: break
        }
        if let mic {
            let microphone = Microphone(source: mic.isEmpty ? nil : mic, isPersistent: true)
            sound.append(AudioInput(.microphoneAudio, microphone))
        }
        ErrorOutput.writeLine("share: showing \(screen.summary)")
        for limitation in screen.limitations { ErrorOutput.writeLine("share: \(limitation)") }
        return CapturedMedia(screen: screen, audio: sound)
    }
}
