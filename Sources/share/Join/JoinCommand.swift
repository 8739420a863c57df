import ArgumentParser
import CommandSupport
import ControlSocket
import FoundationEssentials
import Glibc
import Identifiers
import ImageFile
import LinuxRuntime
import MediaCore
import PeerConnection
import PixelConversion
import PulseAudio
import ShareKit
import Signaling
import Viewer
import WindowPlayout
import X11Capture

struct JoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Watch a shared screen.",
        usage: HelpScope.usage("share join [<options>] [<link>]"),
        discussion: """
            The link is also read from SHARE_LINK, or from stdin if '-' is given, so that 'ps' \
            does not show it. In the window: F or a double click for full screen, M to mute, \
            S for statistics, 1 for the picture's own size (arrow keys, wheel and mouse move it), \
            Q to leave, Escape to leave full screen, then the session. \
            A line that is typed in the terminal is a comment, if the host allows it.
            """ + HelpScope.hint("recordings and clips, statistics, STUN and TURN"))

    @Argument(help: "The link that 'share host' printed, or - for stdin.")
    var link: String?

    @Flag(
        help: ArgumentHelp(
            "Watch in the browser, with the page from this program.",
            discussion: """
                A relay that serves the page could change it. Here the page comes from this program, which also \
                checks the host's certificate. It is served to this machine alone, until the page is closed, or \
                until Ctrl-C, which ends the session.
                """))
    var browser = false

    @Flag(help: "Open no window. --snapshot still saves the last frame.")
    var headless = false

    @Flag(help: "Start in full screen.")
    var fullscreen = false

    @Flag(help: "Start muted.")
    var mute = false

    @Option(
        help: ArgumentHelp(
            "Your name, as the host sees it; your login name and your machine's if omitted.", valueName: "text"))
    var name: String?

    @Option(help: ArgumentHelp("Save the last frame to this file at the end.", valueName: "file.png"))
    var snapshot: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Leave this long after the first frame, or sound: 90, 90s, 10m.", valueName: "time"))
    var duration: Timespan?

    @Flag(
        help: .rest(
            "Print a line of statistics on stderr each second.",
            discussion: """
                estimate: the host's bandwidth estimate for this viewer, if it reports one. \
                queue: the delay of the audio jitter buffer; video has none. freezes: times \
                over 150 ms for which a newer frame existed and could not be shown. recovered: \
                losses after which the video continued without a key frame. layer: the \
                highest temporal layer received.
                """))
    var stats = false

    @Option(
        help: .rest(
            "Ask for the temporal layers up to this one only: 0 saves bandwidth.",
            discussion: """
                Where the host or relay has two layers, which it has while its viewers' \
                connections differ, 0 is about half of the frames.
                """, valueName: "layer"))
    var maxLayer: Int?

    @OptionGroup(title: "Recording options", visibility: HelpScope.rest) var keep: KeepOptions

    @OptionGroup(title: "Network options", visibility: HelpScope.rest) var serverOptions: ServerOptions

    @Flag(help: .rest("Print one JSON event a line on stdout."))
    var json = false

    func run() throws { try complaining { try join() } }

    func validate() throws {
        guard maxLayer.map({ (0...7).contains($0) }) ?? true else {
            throw ValidationError("--max-layer is 0 to 7")
        }
        try validateBrowser()
    }

    private func join() throws {
        // No host on this machine shares what this viewer plays.
        OwnPlayback.markProcess()
        FileDescriptors.raiseLimit()
        let output = DataOutput(isJSON: json)
        let link = try LinkArgument.read(link, command: "join")
        if browser { return try showInBrowser(link) }
        let servers = try serverOptions.servers()
        if let snapshot { try OutputFile.check(snapshot) }
        let kept = try RecordingOutputs(keep, name: nil, output)
        let window = ViewerWindow(isExpected: !headless)
        let reporter = ViewerReporter(
            output: output, window: window, snapshot: snapshot != nil, reportsStatistics: stats)
        Signals.handle { reporter.interrupt(EndReason(.stopped, "ended by \($0)")) }
        let identity = try makeIdentity()
        let (isMirror, answers) = try headless ? (false, false) : checkDisplay(link)
        let actions = WindowParticipation()
        let openWindow = { try window.open { try makeWindow(reporter, actions, isMirror: isMirror) } }
        // Nobody is asked to let a viewer in who has no display. On one that has answered, the window opens meanwhile.
        if !answers { _ = try openWindow() }
        let playback = PlaybackSink(
            videoSink: VideoSinkFork(window: isMirror ? nil : window, frameStore: reporter.frameStore),
            makeSpeaker: { () throws(SourceFailure) in headless ? SilentSink() : try makeAudioSink()
            }, emit: { reporter.report($0, isMirror: isMirror) })
        if mute || isMirror { playback.setMuted(true) }
        let comments = Monitor<CommentReader?>(nil)
        let viewer = PeerViewer(
            link, identity: identity, name: name ?? DefaultName.text, servers: servers,
            usesOnlyRelays: serverOptions.relayOnly, records: !keep.isEmpty,
            emit: { event in
                comments.with { $0 }?.note(event)
                kept.note(event)
                reporter.report(event, isMirror: isMirror)
            },
            makeSink: { _ in kept.fork(playback) })
        actions.begin(viewer)
        if let maxLayer { viewer.limitTemporalLayers(to: maxLayer) }
        comments.with { $0 = CommentReader(viewer, isEnabled: !json && self.link != "-") }
        comments.with { $0 }?.start()
        let button = kept.watchButton(keep)
        defer { button?.close() }
        let control = kept.makeControl()
        defer { if let control { blocking { await control.close() } } }
        window.perform { $0.setStatus("knocking at \(link.authority) ...") }
        reporter.start(viewer, playback, duration: duration?.seconds)
        let opened = Result { try openWindow() }
        switch opened {
        case .success(let window?): reporter.end(run(window))
        case .success(nil): break
        case .failure: reporter.end(EndReason(.stopped, "there is no window"))
        }
        let reason = reporter.finish().withCodecAdvice
        comments.with { $0 }?.close()
        output.ended(reason)
        try end(reason, reporter, opened.get())
        try kept.finish()
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }

    /// Saves the last frame, and leaves the window with the reason until it is closed.
    /// - Throws: if the session has failed, or has shown nothing.
    private func end(_ reason: EndReason, _ reporter: ViewerReporter, _ window: VideoWindow?) throws {
        // The reason of the end is reported before a missing snapshot, as it explains more.
        let hasFrame = try snapshot.map { try save(reporter.frameStore, to: $0) } ?? true
        if let window, reason.code != .stopped { show(reason, in: window) }
        if let window { WindowMemory.keep(window) }
        guard reason.status == .fine else {
            throw CommandError(reason)
        }
        guard hasFrame else {
            throw CommandError(
                sentence: "no frame was received, so \(snapshot ?? "the file") was not written", status: .lost)
        }
    }

    private static let withoutWindow = "Watch with --headless --snapshot FILE.png, or open the link in a browser."

    /// - Returns: whether the display is the one that is shared, and whether it answers, so that a window can be
    ///   opened.
    /// - Throws: no display is named.
    private func checkDisplay(_ link: Link) throws -> (isMirror: Bool, answers: Bool) {
        let environment = ProcessInfo.processInfo.environment
        guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0]?.isEmpty == false }) else {
            throw CommandError(
                sentence: "there is no display for a window: DISPLAY is not set", remedy: Self.withoutWindow,
                status: .noDisplay)
        }
        // Without this, SDL tries Wayland first and prints an error. No other thread may read the environment
        // meanwhile.
        if environment["WAYLAND_DISPLAY"]?.isEmpty != false { setenv("SDL_VIDEODRIVER", "x11", 0) }
        let isMarked = DisplayCaptureMarker.isPresent(link.id.text, display: nil)
        return (isMarked == true, isMarked != nil && ["x11", nil].contains(environment["SDL_VIDEODRIVER"]))
    }

    /// - Parameter isMirror: the window is on the display that is shared.
    private func makeWindow(
        _ reporter: ViewerReporter, _ participation: WindowParticipation, isMirror: Bool
    ) throws -> VideoWindow {
        do throws(SourceFailure) {
            return try VideoWindow(
                title: "share", converter: YUVConverter(), place: WindowMemory.place,
                startsFullscreen: fullscreen, startsMute: mute || isMirror, awaitsAudio: true,
                onMute: { muted in reporter.setMuted(muted) },
                onStatistics: { isShown in reporter.showStatistics(isShown) },
                onAction: { participation.handle($0) })
        } catch {
            throw CommandError(sentence: error.message, remedy: Self.withoutWindow, status: .noDisplay)
        }
    }

    private func run(_ window: VideoWindow) -> EndReason {
        do throws(SourceFailure) {
            return EndReason(.stopped, try window.run() == .closedByUser ? "you left" : "the session is over")
        } catch {
            return EndReason(error)
        }
    }

    /// Shows the reason in the window until a key is pressed.
    private func show(_ reason: EndReason, in window: VideoWindow) {
        let sentence = reason.sentence.prefix(1).uppercased() + reason.sentence.dropFirst() + "."
        let lines = [sentence] + (reason.remedy.isEmpty ? [] : [reason.remedy, ""]) + ["Press a key to close."]
        ErrorOutput.writeLine("share: \(reason.sentence); press a key in the window to close it")
        _ = try? window.runUntilDismissed(lines.joined(separator: "\n"))
    }

    /// - Returns: false if no frame was received; no file is written then.
    private func save(_ frameStore: LatestFrameStore, to file: String) throws -> Bool {
        do {
            return try frameStore.save(to: file)
        } catch let failure as ImageFileFailure {
            throw CommandError(sentence: failure.message, status: .cannotWrite)
        }
    }
}

/// Returns the output of an audio track: PulseAudio or, without it, SDL.
///
/// SDL reopens its audio device after a silence, and some servers then drop the first second, so PulseAudio is tried
/// first.
func makeAudioSink() throws(SourceFailure) -> any AudioSink {
    do throws(SourceFailure) {
        return try PulseAudioSink()
    } catch {
        // Without a sound card, ALSA would only print errors.
        guard FileManager.default.fileExists(atPath: "/dev/snd") else { throw error }
        return try SDLAudioSink()
    }
}
