import CommandSupport
import Host
import LinuxRuntime
import MediaCore
import PeerConnection
import Recording
import Signaling
import Viewer

/// The recorder and the clip buffer of a session, and what they report on stderr and as JSON. Safe from any thread.
final class RecordingOutputs: Sendable {
    private struct State {
        var name: String
        var failure: RecordingFailure?
        var files = 0
    }

    let output: DataOutput
    let clips: ClipBuffer?
    let log = RecordingLog()
    private let recorder: Recorder?
    /// The comments beside the recording; nil: they are not kept.
    private let comments: CommentTrack?
    private let state: Monitor<State>

    /// - Parameters:
    ///   - name: of the broadcast, until it is known.
    ///   - split: when the recording goes on in another file.
    ///   - onFile: called with each file that is complete.
    /// - Throws: if the file cannot be created.
    init(
        _ options: KeepOptions, name: String?, _ output: DataOutput, split: RecordingSplit? = nil,
        onFile: @escaping @Sendable (RecordedFile) -> Void = { _ in }
    ) throws(CommandError) {
        self.output = output
        let state = Monitor(State(name: UntrustedText.clean(name ?? "", fallback: "share")))
        self.state = state
        clips = options.clips.map { ClipBuffer(length: .seconds($0)) }
        comments = options.recordComments ? .reporting(to: output) : nil
        if let folder = options.clipFolder { try RecordTarget.checkFolder(folder) }
        guard let path = options.record else {
            recorder = nil
            if let name { clips?.setTitle(UntrustedText.clean(name, fallback: "share")) }
            return
        }
        let target = try RecordTarget(path, broadcast: { state.with { $0.name } })
        do throws(RecordingFailure) {
            recorder = try Recorder(
                to: target.destination, reservesFile: target.isFile, split: split,
                emit: { [state, output, log, comments] event in
                    comments?.note(event)
                    log.note(event, title: state.with { $0.name })
                    Self.report(event, state, output)
                    if case .finished(let file) = event { onFile(file) }
                })
        } catch {
            throw CommandError(error)
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

    /// The name of the broadcast, cleaned.
    var name: String { state.with { $0.name } }

    /// Sets the name of the broadcast.
    func setName(_ name: String) {
        let name = UntrustedText.clean(name, fallback: "share")
        state.with { $0.name = name }
        recorder?.setTitle(name)
        clips?.setTitle(name)
    }

    /// Takes what a viewer's session says of the broadcast.
    func note(_ event: ViewerSessionEvent) {
        switch event {
        case .named(let name): setName(name)
        case .hostEvent(.comment(let comment)): add(comment)
        default: break
        }
    }

    /// Keeps a comment.
    func add(_ comment: BroadcastComment) { comments?.add(comment) }

    func fail(_ failure: RecordingFailure) { Self.report(.failed(failure), state, output) }

    /// - Throws: if something could not be recorded. Called when the session has ended and its sinks are closed.
    func finish() throws(CommandError) {
        if let failure = state.with({ $0.failure }) { throw CommandError(failure) }
        guard recorder == nil || state.with({ $0.files > 0 }) else {
            throw CommandError(sentence: "nothing was received, so no file was written", status: .lost)
        }
    }

    private static func report(_ event: RecordingEvent, _ state: Monitor<State>, _ output: DataOutput) {
        output.report(event)
        switch event {
        case .finished: state.with { $0.files += 1 }
        case .failed(let failure):
            state.with { $0.failure = $0.failure ?? failure }
            ErrorOutput.writeLine("share: the recording has ended: \(failure.message). The session goes on")
        case .started, .dropped: break
        }
    }
}

extension CommentTrack {
    static func reporting(to output: DataOutput) -> CommentTrack {
        CommentTrack { sentence in
            output.event("comments-failed", ["reason": .string(sentence)])
            ErrorOutput.writeLine("share: \(sentence)")
        }
    }
}
