import Admission
import CommandSupport
import FoundationEssentials
import Identifiers
import ImageFile
import LinuxRuntime
import MediaCore
import PeerConnection
import Recording
import Service
import ShareKit
import Signaling
import Synchronization
import Viewer
import WindowPlayout

/// Shows what a service takes in, and reports its events on stderr and as JSON on stdout. Safe from any thread.
final class ServiceReporter: Sendable {
    private struct State {
        /// The last frames of the running broadcasts.
        var frames: [SessionID: LatestFrameStore] = [:]
        var publishers: [SessionID: Publisher] = [:]
        var recordingFailure: CommandError?
    }

    private let output: DataOutput
    private let snapshot: String?
    /// The folder for recordings.
    private let recordings: String?
    private let command: String?
    private let window: VideoWindow?
    /// The window's while there is no broadcast.
    private let ownTitle: String
    private let state = Mutex(State())
    private let log = RecordingLog()

    init(
        output: DataOutput, snapshot: String?, recordings: String?, command: String?, window: VideoWindow?,
        title: String
    ) {
        self.output = output
        self.snapshot = snapshot
        self.recordings = recordings
        self.command = command
        self.window = window
        ownTitle = title
    }

    /// - Throws: if the link cannot be written.
    func begin(_ link: ServiceLink) throws(CommandError) {
        try output.link(link.text)
        ErrorOutput.writeLine("share: on a host: share extension install '\(link.text)'")
        ErrorOutput.writeLine("share: then: share host --preferred-extension \(link.id)")
        window?.setStatus("waiting for a broadcast to \(link.id)")
    }

    func makeSink(_ id: SessionID, _ publisher: Publisher) -> any EncodedMediaSink {
        let frames = LatestFrameStore(isNeeded: snapshot != nil)
        state.withLock {
            $0.frames[id] = frames
            $0.publishers[id] = publisher
        }
        let isHeadless = window == nil
        let playback = PlaybackSink(
            videoSink: VideoSinkFork(window: window.map { ViewerWindow($0) }, frameStore: frames),
            makeSpeaker: { () throws(SourceFailure) in isHeadless ? SilentSink() : try makeAudioSink() },
            emit: { [self] in report($0, of: publisher) })
        guard let recorder = makeRecorder(publisher) else { return playback }
        return EncodedMediaFork(playback, [recorder]) { [self] in
            noteFailure(RecordingFailure($0.message, remedy: $0.remedy), publisher)
        }
    }

    // MARK: Recordings

    /// What could not be recorded first; nil if everything was.
    var recordingFailure: CommandError? { state.withLock { $0.recordingFailure } }

    private func makeRecorder(_ publisher: Publisher) -> Recorder? {
        guard let recordings else { return nil }
        let name = publisher.application?.name ?? publisher.kind
        do throws(RecordingFailure) {
            let recorder = try Recorder(
                to: .folder(recordings) { RecordTarget.fileName(broadcast: name, at: Date()) }, reservesFile: false,
                emit: { [self] event in
                    log.note(event, title: name)
                    report(event, of: publisher)
                })
            recorder.setTitle(name)
            return recorder
        } catch {
            noteFailure(error, publisher)
            return nil
        }
    }

    private func report(_ event: RecordingEvent, of publisher: Publisher) {
        switch event {
        case .started, .dropped: output.event(event.report.name, event.report.fields + fields(publisher))
        case .finished(let file):
            output.event(event.report.name, event.report.fields + fields(publisher))
            ErrorOutput.writeLine("share: recorded \(title(publisher)): \(UntrustedText.path(file.path))")
        case .failed(let failure): noteFailure(failure, publisher)
        }
    }

    private func noteFailure(_ failure: RecordingFailure, _ publisher: Publisher) {
        state.withLock { $0.recordingFailure = $0.recordingFailure ?? CommandError(failure) }
        output.event("recording-failed", [("reason", .string(failure.message))] + fields(publisher))
        ErrorOutput.writeLine("share: \(title(publisher)) is not recorded any more: \(failure.message)")
    }

    private func report(_ event: PlaybackEvent, of publisher: Publisher) {
        switch event {
        case .firstFrame(let size):
            window?.setStatus(nil)
            output.event(
                "first-picture",
                [("width", .integer(size.width)), ("height", .integer(size.height))] + fields(publisher))
        case .audio: window?.noteAudio()
        case .audioAlone:
            window?.setStatus(ViewerReporter.audioAloneSentence)
            output.event("audio-alone", fields(publisher))
            ErrorOutput.writeLine("share: \(ViewerReporter.audioAloneSentence)")
        case .notice(let notice): output.notice(notice, fields(publisher))
        }
    }

    func report(_ event: ServiceSessionEvent) {
        switch event {
        case .pairing(let request): output.event("pairing", fields(request))
        case .paired(let request):
            output.event("paired", fields(request))
            ErrorOutput.writeLine("share: paired with \(title(request))")
        case .pairingRefused(let request, let reason):
            output.event("pairing-refused", fields(request) + [("reason", .string(reason))])
            ErrorOutput.writeLine("share: not paired with \(title(request)): \(reason)")
        case .opened(_, let publisher):
            output.event("broadcast-opened", fields(publisher))
            show(publisher.application, of: publisher)
            run(for: publisher)
        case .connected(let id, let path):
            guard let publisher = publisher(id) else { return }
            output.event("connected", fields(publisher) + [("path", .string(path))])
            ErrorOutput.writeLine("share: \(title(publisher)) broadcasts")
        case .interrupted(let id):
            guard let publisher = publisher(id) else { return }
            output.event("interrupted", fields(publisher))
            ErrorOutput.writeLine("share: no packets from \(title(publisher))")
        case .resumed(let id):
            guard let publisher = publisher(id) else { return }
            output.event("resumed", fields(publisher))
            ErrorOutput.writeLine("share: \(title(publisher)) broadcasts again")
        case .closed(let id, let publisher, let reason): close(id, publisher, reason)
        case .annotated(let id, let application):
            guard let publisher = publisher(id) else { return }
            output.event(
                "application",
                fields(publisher) + [
                    ("shownId", .string(application.id)), ("shown", .string(application.name)),
                    ("hasIcon", .boolean(application.icon != nil)),
                ])
            ErrorOutput.writeLine("share: \(title(publisher)) shows \(UntrustedText.quote(application.name))")
            show(application, of: publisher)
        case .notice(let notice): output.notice(notice)
        // Of relays.
        case .tunnelOpened, .tunnelClosed, .listed: break
        }
    }

    private func close(_ id: SessionID, _ publisher: Publisher, _ reason: EndReason) {
        let frames = state.withLock { state in
            state.publishers[id] = nil
            return state.frames.removeValue(forKey: id)
        }
        save(frames)
        output.event(
            "broadcast-closed",
            fields(publisher) + [("reason", .string(reason.sentence)), ("code", .string(reason.code.rawValue))])
        ErrorOutput.writeLine("share: \(title(publisher)) has ended: \(reason.sentence)")
        window?.setStatus("\(title(publisher)) has ended; waiting for a broadcast")
        window?.setTitle(ownTitle)
        window?.setIcon(nil)
    }

    /// Shows in the window's title and icon which application a broadcast has in front, its title if the host's user
    /// gave one, and whose it is.
    private func show(_ application: ApplicationInfo?, of publisher: Publisher) {
        guard let window else { return }
        var parts = [application?.name, publisher.setup["title"], publisher.application?.name ?? publisher.kind]
        parts = parts.map { $0.map { UntrustedText.clean($0, fallback: "") } }
        var names: [String] = []
        for case let name? in parts where !name.isEmpty && !names.contains(name) { names.append(name) }
        window.setTitle(names.joined(separator: " - "))
        let image = application?.icon.flatMap { ImageFile.read(png: $0.bytes, sideLimit: PNGIcon.sideLimit) }
        window.setIcon(image.flatMap { WindowIcon($0.pixels, size: $0.size) })
    }

    private func save(_ frames: LatestFrameStore?) {
        guard let frames, let snapshot else { return }
        do {
            _ = try frames.save(to: snapshot)
        } catch {
            ErrorOutput.writeLine("share: \(snapshot) cannot be written: \(error)")
        }
    }

    func end(_ reason: EndReason) { output.ended(reason) }

    private func publisher(_ id: SessionID) -> Publisher? { state.withLock { $0.publishers[id] } }

    // MARK: Words and fields

    private func title(_ request: PairingRequest) -> String {
        "\(UntrustedText.quote(request.application.name)) (\(request.application.id), \(request.address))"
    }

    private func title(_ publisher: Publisher) -> String {
        guard let application = publisher.application else { return "\(publisher.kind) (\(publisher.address))" }
        return "\(UntrustedText.quote(application.name)) (\(application.id), \(publisher.address))"
    }

    private func fields(_ request: PairingRequest) -> [(String, JSONValue)] {
        [
            ("application", .string(request.application.name)), ("applicationId", .string(request.application.id)),
            ("address", .string(request.address)), ("setup", Self.object(request.setup)),
        ]
    }

    private func fields(_ publisher: Publisher) -> [(String, JSONValue)] {
        [
            ("application", publisher.application.map { .string($0.name) } ?? .null),
            ("applicationId", publisher.application.map { .string($0.id) } ?? .null),
            ("address", .string(publisher.address)), ("setup", Self.object(publisher.setup)),
        ]
    }

    private static func object(_ values: [String: String]) -> JSONValue {
        .dictionary(values.mapValues { .string($0) })
    }

    // MARK: The user's command

    /// Runs `--on-broadcast`.
    private func run(for publisher: Publisher) {
        guard let command else { return }
        UserCommand(option: "--on-broadcast", command: command).run([
            "SHARE_APPLICATION": publisher.application?.name ?? "",
            "SHARE_APPLICATION_ID": publisher.application?.id ?? "", "SHARE_ADDRESS": publisher.address,
            "SHARE_SETUP": Self.object(publisher.setup).text,
        ])
    }

    // MARK: Commands on stdin

    private struct Command: Decodable {
        struct Comment: Decodable {
            var name: String
            var text: String
        }
        struct Finish: Decodable {
            var reason: String
            var nextStep: String?
        }
        var viewers: Int?
        var likes: Int?
        var comment: Comment?
        var url: String?
        var finish: Finish?
    }

    /// Reads one JSON object a line from stdin, on a thread of its own, until stdin ends.
    func readCommands(for service: BroadcastService) {
        _ = NamedThread("commands") { [self] in
            while let line = readLine() {
                guard let command = try? JSONDecoder().decode(Command.self, from: Data(line.utf8)) else {
                    ErrorOutput.writeLine(
                        "share: this line on stdin is no command: \(UntrustedText.quote(String(line.prefix(80))))")
                    continue
                }
                perform(command, service)
            }
        }
    }

    private func perform(_ command: Command, _ service: BroadcastService) {
        if command.viewers != nil || command.likes != nil || command.comment != nil {
            let info = ServiceInfo(
                viewers: command.viewers, likes: command.likes,
                comment: command.comment.flatMap { BroadcastComment(from: $0.name, $0.text) })
            service.send(info)
            output.event("service-info", ServiceEventReporter.fields(info))
        }
        if let url = command.url { service.send(url: url) }
        if let finish = command.finish { service.finish(reason: finish.reason, nextStep: finish.nextStep) }
    }
}
