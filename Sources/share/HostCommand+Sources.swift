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
        switch chosenSource {
        case .test:
            screen = TestVideoSource()
            if audio == .system { sound.append(AudioInput(.applicationAudio, TestTone())) }
        case .screen:
            do throws(SourceFailure) {
                screen = try X11Screen(display: display, converter: YUVConverter())
            } catch {
                throw Complaint(sentence: error.message, remedy: error.remedy, status: .noDisplay)
            }
            if audio == .system { sound.append(AudioInput(.applicationAudio, SystemAudio())) }
        case .monitor, .window, .region, .portal, .camera:
            throw Complaint(sentence: "\(chosenSource.text) cannot be captured yet", status: .usage)
        }
        if let mic { sound.append(AudioInput(.microphoneAudio, Microphone(source: mic.isEmpty ? nil : mic))) }
        ErrorOutput.writeLine("share: showing \(screen.summary)")
        for limitation in screen.limitations { ErrorOutput.writeLine("share: \(limitation)") }
        return CapturedMedia(screen: screen, audio: sound)
    }
}
