import CameraCapture
import CommandSupport
import Foundation
import Host
import LinuxRuntime
import MediaCore
import PeerConnection
import PixelConversion
import PortalCapture
import PulseAudio
import ShareKit
import TestSource
import X11Capture

extension HostCommand {
    /// The sources that a host captures, which it names to its user.
    func makeMedia(_ run: HostRun) throws -> CapturedMedia {
        var sound: [AudioInput] = []
        var screen: any ScreenSource
        switch chosenSource {
        case .test:
            screen = TestVideoSource()
        case .screen, .monitor, .region, .window:
            do throws(SourceFailure) {
                let capture = try X11Screen(
                    display: display, source: chosenSource,
                    options: CaptureOptions(cursor: cursor.cursor, hiddenWindows: hideWindow),
                    converter: YUVConverter(),
                    report: { ErrorOutput.writeLine("share: \($0)") })
                run.control.with { $0 = ScreenControl(chosenSource, window: capture.windowID, display: display) }
                screen = capture
            } catch {
                throw CommandError(sentence: error.message, remedy: error.remedy, status: .noDisplay)
            }
        case .portal: screen = try makePortalScreen(until: run.ending)
        case .camera: screen = try makeCameraScreen(run)
        }
        if let camera = run.camera, !camera.isWhole { screen = CameraOverlay(screen, camera) }
        switch audio {
        case .system:
            let played: any AudioSource =
                if chosenSource == .test { TestTone() } else { SystemAudio(isPersistent: true) }
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

    /// Opens the camera that is the whole picture.
    private func makeCameraScreen(_ run: HostRun) throws -> sending any ScreenSource {
        do throws(SourceFailure) {
            guard let camera = run.camera else { throw SourceFailure(.noSuchDevice, "no camera is chosen") }
            return try CameraScreen(camera)
        } catch {
            throw CommandError(sentence: error.message, remedy: error.remedy, status: .noDisplay)
        }
    }

    /// Asks the desktop's portal for a screen.
    /// - Parameter ending: ends the desktop's question what to share.
    private func makePortalScreen(until ending: Monitor<EndReason?>) throws -> sending any ScreenSource {
        do throws(SourceFailure) {
            return try PortalSource.open(
                asksAgain: askAgain, until: ending, cursor: PortalScreen.Cursor(cursor.cursor),
                environment: ProcessInfo.processInfo.environment)
        } catch {
            if let reason = ending.with({ $0 }) {
                ErrorOutput.writeLine("share: \(reason.sentence)")
                throw ExitStatus.fine.code
            }
            // Who has not asked for the portal may not know that there is another way.
            let other = source == nil ? " --source screen shares what X11 programs show." : ""
            throw CommandError(sentence: error.message, remedy: error.remedy + other, status: .noDisplay)
        }
    }
}

extension PortalScreen.Cursor {
    fileprivate init(_ cursor: CaptureOptions.Cursor) {
        self =
            switch cursor {
            case .yes: .shown
            case .no: .hidden
            case .onlyWhenMoving: .shownWhileMoving
            }
    }
}
