import CommandSupport
import Control
import ControlSocket
import FoundationEssentials
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import Recording
import WindowPlayout

/// Clips, by other programs of the user and by a controller's button.
extension RecordingOutputs {
    /// For other programs of the user; nil if no clips are kept.
    var control: ClipControl? {
        guard let clips else { return nil }
        return ClipControl(
            name: { [self] in name },
            status: {
                let status = clips.status
                return (status.available, status.length)
            },
            save: { [self] length, path throws(ControlError) in
                do throws(RecordingFailure) {
                    return try await save(clips, length, path)
                } catch {
                    throw ControlError(.failed, error.message)
                }
            })
    }

    private func save(
        _ clips: ClipBuffer, _ length: MediaDuration?, _ path: String
    ) async throws(RecordingFailure) -> SavedClip {
        let target: RecordTarget
        do throws(CommandError) {
            target = try RecordTarget(path, broadcast: { [self] in name + " clip" })
        } catch {
            throw RecordingFailure(error.sentence)
        }
        let result = await onThread("clip") { () -> Result<RecordedFile, RecordingFailure> in
            Result { () throws(RecordingFailure) in try clips.export(last: length, to: target.destination) }
        }
        let file = try result.get()
        log.add(file, title: name)
        output.event("clip", file.fields)
        ErrorOutput.writeLine("share: saved a clip: \(UntrustedText.path(file.path))")
        return SavedClip(file: file.path, seconds: file.duration.inSeconds, bytes: file.bytes)
    }

    /// Saves a clip each time the button of a controller is pressed. Without controllers the session goes on, and a
    /// sentence says so.
    func watchButton(_ options: KeepOptions) -> ControllerButton? {
        guard options.clipButton, let clips else { return nil }
        let folder = options.clipFolder ?? "."
        let isSaving = Monitor(false)
        do throws(SourceFailure) {
            return try ControllerButton { [self] in
                // One at a time: a button that is pressed meanwhile would save nearly the same.
                let isFirst = isSaving.with { $0.setOnce() }
                guard isFirst else { return }
                Task.detached { [self] in
                    do throws(RecordingFailure) {
                        _ = try await save(clips, nil, folder)
                    } catch {
                        ErrorOutput.writeLine("share: no clip was saved: \(error.message)")
                    }
                    isSaving.with { $0 = false }
                }
            }
        } catch {
            ErrorOutput.writeLine("share: \(error.message)")
            return nil
        }
    }

    /// Opens the control socket of a viewer that keeps clips. Without one the session goes on, and a sentence says so.
    func makeControl() -> ControlSocketServer? {
        guard let control else { return nil }
        let viewer = ViewerControl(control)
        do throws(ControlSocketFailure) {
            return try ControlSocketServer(
                name: BroadcastID.random().text,
                in: ControlSocketFolder(environment: ProcessInfo.processInfo.environment)
            ) { await viewer.answer($0) }
        } catch {
            ErrorOutput.writeLine("share: share clip will not find this viewer: \(error.message)")
            return nil
        }
    }
}
