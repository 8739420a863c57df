import ArgumentParser
import CommandSupport
import Identifiers
import MediaCore
import PeerConnection
import Recording
import ShareKit
import Signaling
import Viewer

struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Watch a shared screen and save it to a file, or record your own screen.",
        usage: HelpScope.usage("share record [<options>] [<links> ...]"),
        discussion: """
            Joins as a viewer that records: the host sees that when it lets you in. Nothing is \
            decoded: the file has the frames and the sound as they were sent, in WebM, which \
            browsers and most players show. It can be played at every moment, also while it is \
            written and after a crash. No file is ever overwritten.

            With --screen, your own screen is recorded: nobody watches, no port is opened and there is no link. \
            It is shown in the tray, and share status, pause, resume, mute and stop control it.

            Ctrl-C ends the recording. The link is also read from SHARE_LINK, or from stdin if '-' \
            is given.
            """ + HelpScope.hint("what of the own screen, and how; STUN and TURN"))

    @Argument(help: "The link that 'share host' printed, or - for stdin. Several with --watch.")
    var links: [String] = []

    @Flag(help: "Record your own screen instead of a broadcast.")
    var screen = false

    @OptionGroup(title: "Options of --screen", visibility: HelpScope.rest) var screenOptions: ScreenRecordingOptions

    @Flag(
        help: .common(
            "Record whenever the broadcast runs: join again after an outage, and when the host comes back.",
            details: "Each session gets a file in the folder. A host that refuses is not asked again."))
    var watch = false

    @Option(
        name: .shortAndLong,
        help: .common(
            "The file to write, or the folder for it; the current folder if omitted.",
            details: "In a folder, the file is named after the broadcast, the date and the time.",
            valueName: "file|folder"))
    var output: String?

    @Option(
        name: .customLong("for"), help: ArgumentHelp("End after this long: 90, 90s, 10m.", valueName: "time"))
    var duration: Timespan?

    @Option(
        help: ArgumentHelp(
            "Go on in another file after so much: 10m, 2h, 500MB, 2GB.", valueName: "time|size"))
    var split: SplitLimit?

    @Flag(help: ArgumentHelp("Also save the comments beside each recording, as subtitles (WebVTT): FILE.vtt."))
    var recordComments = false

    @Option(
        help: ArgumentHelp(
            "Your name, as the host sees it; your login name and your machine's if omitted.", valueName: "text"))
    var name: String?

    @OptionGroup(title: "Network options", visibility: HelpScope.rest) var serverOptions: ServerOptions

    @Flag(help: .rest("Print one JSON event a line on stdout."))
    var json = false

    func run() throws { try complaining { try record() } }

    func validate() throws {
        if screen, !links.isEmpty || watch || name != nil {
            throw ValidationError("--screen records your own screen: it takes no link, and neither --watch nor --name.")
        }
        if !screen { try screenOptions.refuse() }
        if screen, recordComments { throw ValidationError("--record-comments is not for --screen.") }
        if links.count > 1, !watch { throw ValidationError("Several links need --watch.") }
    }

    private func record() throws {
        FileDescriptors.raiseLimit()
        if screen { return try recordScreen() }
        if watch { return try recordEachSession() }
        let link = try LinkArgument.read(links.first, command: "record")
        let servers = try serverOptions.servers()
        let identity = try makeIdentity()
        CutOffRecordings.report()
        let reporter = RecordReporter(output: DataOutput(isJSON: json), duration: duration?.seconds)
        let target = try RecordTarget(output ?? ".", broadcast: { reporter.broadcastName })
        let comments = recordComments ? CommentTrack.reporting(to: reporter.output) : nil
        let recorder: Recorder
        do throws(RecordingFailure) {
            recorder = try Recorder(
                to: target.destination, reservesFile: target.isFile, split: split?.split,
                emit: { event in
                    comments?.note(event)
                    reporter.report(event)
                })
        } catch {
            throw CommandError(error)
        }
        Signals.handle { reporter.end(EndReason(.stopped, "ended by \($0)")) }
        let viewer = PeerViewer(
            link, identity: identity, name: name ?? DefaultName.text, servers: servers,
            usesOnlyRelays: serverOptions.relayOnly, records: true,
            emit: { event in
                if case .named(let name) = event { recorder.setTitle(name) }
                if case .hostEvent(.comment(let comment)) = event { comments?.add(comment) }
                reporter.report(event)
            }, makeSink: { _ in recorder })
        let reason = reporter.run(viewer, recorder)
        reporter.output.ended(reason)
        // The reason of the session's end explains more than a missing file.
        guard reason.status == .fine else { throw CommandError(reason) }
        if let failure = reporter.failure { throw CommandError(failure) }
        guard reporter.hasRecorded else {
            throw CommandError(sentence: "nothing was received, so no file was written", status: .lost)
        }
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }

    private func recordEachSession() throws {
        let folder = output ?? "."
        try RecordTarget.checkFolder(folder)
        var all: [Link] = []
        for text in links.isEmpty ? [nil] : links.map(Optional.some) {
            all.append(try LinkArgument.read(text, command: "record"))
        }
        CutOffRecordings.report()
        let settings = WatchRecorder.Settings(
            folder: folder, identity: try makeIdentity(), name: name ?? DefaultName.text,
            servers: try serverOptions.servers(), usesOnlyRelays: serverOptions.relayOnly, split: split?.split,
            recordsComments: recordComments)
        let output = DataOutput(isJSON: json)
        let watches = RecordWatches(all.map { WatchRecorder($0, settings, output) })
        Signals.handle { watches.end(EndReason(.stopped, "ended by \($0)")) }
        let reason = try watches.run(seconds: duration?.seconds)
        output.ended(reason)
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }
}

extension CommandError {
    init(_ failure: RecordingFailure) {
        self.init(sentence: failure.message, remedy: failure.remedy, status: .cannotWrite)
    }
}

/// When a recording goes on in another file: "10m", "2h", "500MB", "2GB".
struct SplitLimit: ExpressibleByArgument, Equatable, Sendable {
    let split: RecordingSplit

    /// Returns nil unless it is a duration of at least a second, or a size of at least a megabyte.
    init?(argument: String) {
        for (unit, bytes) in [("MB", 1_000_000.0), ("GB", 1_000_000_000.0)] where argument.uppercased().hasSuffix(unit)
        {
            let number = argument.dropLast(2)
            guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let value = Double(number),
                value * bytes >= 1_000_000, let size = Int(exactly: (value * bytes).rounded())
            else { return nil }
            split = .size(size)
            return
        }
        guard let last = argument.last, "smh".contains(last), let time = Timespan(argument: argument),
            time.seconds >= 1
        else { return nil }
        split = .duration(MediaDuration(nanoseconds: Int64(time.seconds * 1e9)))
    }
}
