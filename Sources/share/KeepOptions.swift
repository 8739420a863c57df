import Admission
import ArgumentParser
import Control
import ControlSocket
import Foundation
import LinuxRuntime
import MediaCore
import Receiving
import Recording
import Sessions
import Transport
import WindowPlayout

/// What a host or a viewer keeps of its session.
struct KeepOptions: ParsableArguments {
    @Option(
        defaultAsFlag: ".",
        help: ArgumentHelp(
            "Also record the session to this file, or to a file in this folder; the current folder without a value.",
            valueName: "file|folder"))
    var record: String? = nil

    @Option(
        defaultAsFlag: 15,
        help: ArgumentHelp(
            "Keep the last seconds in memory, so that 'share clip' can save them; 15 without a value.",
            valueName: "seconds"))
    var clips: Int? = nil

    @Flag(
        help: ArgumentHelp(
            "Save a clip when the share button of a game controller is pressed, to the folder of --clip-folder."))
    var clipButton = false

    @Option(help: ArgumentHelp("Where --clip-button saves clips; the current folder if omitted.", valueName: "folder"))
    var clipFolder: String?

    /// The longest clip, in seconds.
    static let longest = 600

    func validate() throws {
        if let clips, !(1...Self.longest).contains(clips) {
            throw ValidationError("--clips is 1 to \(Self.longest) seconds, not \(clips).")
        }
        if clipButton, clips == nil { throw ValidationError("--clip-button needs --clips.") }
        if clipFolder != nil, !clipButton { throw ValidationError("--clip-folder needs --clip-button.") }
    }

    var isEmpty: Bool { record == nil && clips == nil }
}

/// The recorder and the clip buffer of a session, and what they report on stderr and as JSON. Safe from any thread.
final class KeptMedia: Sendable {
    private struct State {
        var name: String
        var failure: RecordingFailure?
        var files = 0
    }

    private let log = RecordingLog()

    private let output: DataOutput
    private let recorder: Recorder?
    private let clips: ClipBuffer?
    private let state: Monitor<State>

    /// - Parameter name: of the broadcast, until it is known.
    /// - Throws: if the file cannot be created.
    init(_ options: KeepOptions, name: String?, _ output: DataOutput) throws(Complaint) {
        self.output = output
        let state = Monitor(State(name: UntrustedText.clean(name ?? "", fallback: "share")))
        self.state = state
        clips = options.clips.map { ClipBuffer(length: .seconds($0)) }
        guard let path = options.record else {
            recorder = nil
            if let name { clips?.setTitle(UntrustedText.clean(name, fallback: "share")) }
            return
        }
        let target = try RecordTarget(path, broadcast: { state.with { $0.name } })
        do throws(RecordingFailure) {
            recorder = try Recorder(
                to: target.destination, reservesFile: target.isFile,
                emit: { [state, output, log] event in
                    log.note(event, title: state.with { $0.name })
                    Self.report(event, state, output)
                })
        } catch {
            throw Complaint(error)
        }
        if let name { setName(name) }
    }

    /// Each with whether it records, and does not only keep the last seconds.
    var sinks: [(sink: any EncodedMediaSink, records: Bool)] {
        (recorder.map { [($0, true)] } ?? []) + (clips.map { [($0, false)] } ?? [])
    }

    /// The same media for the screen and for what is kept.
    func fork(_ sink: any EncodedMediaSink) -> any EncodedMediaSink {
        let others = sinks.map(\.sink)
        return others.isEmpty
            ? sink
            : EncodedMediaFork(sink, others) { [self] in fail(RecordingFailure($0.message, remedy: $0.remedy)) }
    }

    /// Gives a host's own media to what is kept. The broadcast closes it.
    func record(_ broadcast: any ControllableBroadcast) async {
        for (sink, records) in sinks {
            do throws(MediaSinkFailure) {
                try await broadcast.add(sink, demandsMedia: true, records: records)
            } catch {
                fail(RecordingFailure(error.message, remedy: error.remedy))
            }
        }
    }

    /// Sets the name of the broadcast.
    func setName(_ name: String) {
        let name = UntrustedText.clean(name, fallback: "share")
        state.with { $0.name = name }
        recorder?.setTitle(name)
        clips?.setTitle(name)
    }

    func fail(_ failure: RecordingFailure) { Self.report(.failed(failure), state, output) }

    // MARK: Clips

    /// For other programs of the user; nil if no clips are kept.
    var control: ClipControl? {
        guard let clips else { return nil }
        return ClipControl(
            name: { [state] in state.with { $0.name } },
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
        do throws(Complaint) {
            target = try RecordTarget(path, broadcast: { [state] in state.with { $0.name } + " clip" })
        } catch {
            throw RecordingFailure(error.sentence)
        }
        let result = await onThread("clip") { () -> Result<RecordedFile, RecordingFailure> in
            Result { () throws(RecordingFailure) in try clips.export(last: length, to: target.destination) }
        }
        let file = try result.get()
        log.add(file, title: state.with { $0.name })
        output.event(
            "clip",
            ["file": .string(file.path), "seconds": .number(file.duration.inSeconds), "bytes": .integer(file.bytes)])
        ErrorOutput.writeLine(
            "share: saved a clip: \(UntrustedText.clean(file.path, limit: 4_096, fallback: "a file"))")
        return SavedClip(file: file.path, seconds: file.duration.inSeconds, bytes: file.bytes)
    }

    /// Saves a clip each time the button of a controller is pressed. Without controllers the session goes on, and a
    /// sentence says so.
    func watchButton(_ options: KeepOptions) throws(Complaint) -> ControllerButton? {
        guard options.clipButton, let clips else { return nil }
        let folder = options.clipFolder ?? "."
        try RecordTarget.checkFolder(folder)
        let isSaving = Monitor(false)
        do throws(SourceFailure) {
            return try ControllerButton { [self] in
                // One at a time: a button that is pressed meanwhile would save nearly the same.
                let isFirst = isSaving.with { isSaving in
                    defer { isSaving = true }
                    return !isSaving
                }
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

    // MARK: The end

    /// - Throws: if something could not be recorded. Called when the session has ended and its sinks are closed.
    func finish() throws(Complaint) {
        if let failure = state.with({ $0.failure }) { throw Complaint(failure) }
        guard recorder == nil || state.with({ $0.files > 0 }) else {
            throw Complaint(sentence: "nothing was received, so no file was written", status: .lost)
        }
    }

    private static func report(_ event: RecordingEvent, _ state: Monitor<State>, _ output: DataOutput) {
        switch event {
        case .started(let path):
            output.event("recording", ["file": .string(path)])
            ErrorOutput.writeLine("share: recording to \(UntrustedText.clean(path, limit: 4_096, fallback: "a file"))")
        case .finished(let file):
            state.with { $0.files += 1 }
            output.event(
                "recorded",
                [
                    "file": .string(file.path), "seconds": .number(file.duration.inSeconds),
                    "bytes": .integer(file.bytes),
                ])
            ErrorOutput.writeLine(
                "share: recorded \(UntrustedText.clean(file.path, limit: 4_096, fallback: "a file")): "
                    + ClockText.text(Int(file.duration.inSeconds)))
        case .failed(let failure):
            state.with { $0.failure = $0.failure ?? failure }
            output.event("recording-failed", ["reason": .string(failure.message)])
            ErrorOutput.writeLine("share: the recording has ended: \(failure.message). The session goes on")
        case .dropped(let count):
            output.event("dropped", ["count": .integer(count)])
            ErrorOutput.writeLine("share: the disk is too slow; \(count) frames and packets were left out so far")
        }
    }
}
