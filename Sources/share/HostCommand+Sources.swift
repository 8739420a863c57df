import CommandSupport
import Foundation
import LinuxRuntime
import MediaCore
import PixelConversion
import PulseAudio
import Sessions
import ShareKit
import TestSource
import Transport
import X11Capture

extension HostCommand {
    /// The sources that a host captures, which it names to its user.
    /// - Parameter ending: ends the desktop's question what to share.
    func makeMedia(until ending: Monitor<EndReason?>) throws -> CapturedMedia {
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
        case .portal:
            screen = try makePortalScreen(until: ending)
            if audio == .system { sound.append(AudioInput(.applicationAudio, SystemAudio())) }
        case .monitor, .window, .region, .camera:
            throw Complaint(sentence: "\(chosenSource.text) cannot be captured yet", status: .usage)
        }
        if let mic { sound.append(AudioInput(.microphoneAudio, Microphone(source: mic.isEmpty ? nil : mic))) }
        ErrorOutput.writeLine("share: showing \(screen.summary)")
        for limitation in screen.limitations { ErrorOutput.writeLine("share: \(limitation)") }
        return CapturedMedia(screen: screen, audio: sound)
    }

    /// Asks the desktop's portal for a screen.
    private func makePortalScreen(until ending: Monitor<EndReason?>) throws -> sending any ScreenSource {
        do throws(SourceFailure) {
            return try PortalSource.open(
                asksAgain: askAgain, until: ending, environment: ProcessInfo.processInfo.environment)
        } catch {
            if let reason = ending.with({ $0 }) {
                ErrorOutput.writeLine("share: \(reason.sentence)")
                throw ExitStatus.fine.code
            }
            // Who has not asked for the portal may not know that there is another way.
            let other = source == nil ? " --source screen shares what X11 programs show." : ""
            throw Complaint(sentence: error.message, remedy: error.remedy + other, status: .noDisplay)
        }
    }
}
