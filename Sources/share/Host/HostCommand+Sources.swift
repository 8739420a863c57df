import CameraCapture
import CommandSupport
import FoundationEssentials
import Host
import LinuxRuntime
import MediaCore
import PeerConnection
import PixelConversion
import PortalCapture
import PulseAudio
import SessionBus
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
        case .portal: screen = try makePortalScreen(run)
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

    /// Asks the desktop's portal for a screen, and for its pointer and keyboard if viewers may control it. The end of
    /// the run ends the desktop's question.
    private func makePortalScreen(_ run: HostRun) throws -> sending any ScreenSource {
        do throws(SourceFailure) {
            let environment = ProcessInfo.processInfo.environment
            let screen = try PortalSource.open(
                asksAgain: askAgain, asksForInput: viewerRights.control != .no && hasOwnLink, until: run.ending,
                cursor: PortalScreen.Cursor(cursor.cursor), environment: environment)
            permitControl(screen.input, run, SessionBusAddress.running(in: environment))
            return screen
        } catch {
            if let reason = run.ending.with({ $0 }) {
                ErrorOutput.writeLine("share: \(reason.sentence)")
                throw ExitStatus.fine.code
            }
            // Who has not asked for the portal may not know that there is another way.
            let other = source == nil ? " --source screen shares what X11 programs show." : ""
            throw CommandError(sentence: error.message, remedy: error.remedy + other, status: .noDisplay)
        }
    }

    /// - Parameter input: of the screen that the desktop has granted; nil: it was not asked for.
    private func permitControl(_ input: PortalInput?, _ run: HostRun, _ busAddress: String?) {
        guard let input else {
            run.controlRefusal.with {
                $0 = "the desktop was not asked for that; --control ask, or yes, asks it at the start"
            }
            return
        }
        do throws(SourceFailure) {
            try input.check()
            run.control.with { $0 = ScreenControl(input, busAddress: busAddress) }
            let devices = input.devices
            if devices != [.keyboard, .pointer] {
                let only = devices.contains(.pointer) ? "pointer" : "keyboard"
                ErrorOutput.writeLine("share: a viewer who controls has the \(only) alone: the desktop grants no more")
            }
        } catch {
            run.controlRefusal.with { $0 = error.message }
            ErrorOutput.writeLine("share: viewers cannot control the screen: \(error.message). \(error.remedy)")
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
