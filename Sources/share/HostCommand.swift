import Admission
import ArgumentParser
import CommandSupport
import Control
import ControlSocket
import Foundation
import ICEServers
import LinuxRuntime
import MediaCore
import Publishing
import Sessions
import ShareKit
import Signaling
import Transport
import WindowPlayout
import X11Capture

enum ModeChoice: String, ExpressibleByArgument, CaseIterable { case text, motion, auto }
enum CursorChoice: String, ExpressibleByArgument, CaseIterable {
    case yes, no
    case onlyWhenMoving = "only-when-moving"

    var cursor: CaptureOptions.Cursor {
        switch self {
        case .yes: .yes
        case .no: .no
        case .onlyWhenMoving: .onlyWhenMoving
        }
    }
}
enum RouteChoice: String, ExpressibleByArgument, CaseIterable { case auto, direct, relay }

/// It has more stored properties than other types, because each option of the command line is one.
struct HostCommand: ParsableCommand {
    static let defaultListen = "0.0.0.0:0"
    static let defaultDirectViewers = 3

    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Publish this screen and print a link to it.",
        discussion: """
            The first line on stdout is the link. Give it to the people who may watch: they \
            open it in a browser, or with 'share join'. You are asked about each viewer \
            before anything is shown. Ctrl-C ends the broadcast for all viewers.
            """)

    @Option(help: ArgumentHelp("X display to capture; $DISPLAY if omitted.", valueName: ":N"))
    var display: String?

    @Option(
        help: ArgumentHelp(
            "What to share: screen (all of the display), monitor:N, window:ID, region:WxH+X+Y, portal (the default on Wayland), camera:N, test.",
            discussion: """
                If omitted, a list to choose from is shown in a terminal where there is a choice; else screen. \
                A monitor has a number or a name, a window an id or a part of its title: share sources lists \
                them. test is a video with a tone, which needs no display.
                """, valueName: "source"),
        transform: Self.captureSource)
    var source: CaptureSource?

    @Flag(help: "With the portal: have the desktop ask what to share, even if it was asked before.")
    var askAgain = false

    @Option(help: "Show the cursor: yes, no, or only while it moves and for two seconds afterwards.")
    var cursor: CursorChoice = .yes

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "On X11: windows whose title or class matches are black in a shared screen; may be repeated.",
            discussion: """
                * and ? stand for any characters and for one; a pattern without them matches a part of the text. \
                Notifications are always black.
                """, valueName: "pattern"),
        transform: Self.windowPattern)
    var hideWindow: [WindowPattern] = []

    @Option(help: ArgumentHelp("Maximum frame rate, in frames per second.", valueName: "max"))
    var fps = 60

    @Option(help: ArgumentHelp("Maximum bitrate of the video, in kbit/s.", valueName: "kbit"))
    var bitrate = 20_000

    @Option(
        help: "Content hint: prefer sharpness (text) or frame rate (motion), or choose by the content (auto).")
    var mode: ModeChoice = .auto

    @Option(
        help: ArgumentHelp(
            "Audio to share: what this machine plays (system), what one application plays (app:NAME), or none.",
            discussion: """
                What share join plays on this machine is never part of it. NAME is an application's name, \
                program or process id, or the title of what it plays; it need not play yet.
                """, valueName: "audio"))
    var audio: AudioChoice = .system

    @Option(
        defaultAsFlag: "",
        help: ArgumentHelp(
            "Also share the microphone: the default one, or this PulseAudio source.", valueName: "source")
    )
    var mic: String? = nil

    @Option(help: ArgumentHelp("Name of the broadcast, as viewers see it.", valueName: "text"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Who may join: viewers that you accept (ask), known viewers (known), or anyone with the link (any).",
            discussion: """
                Viewers that you accepted with 'always' are known: with ask and known, they \
                join without a question; 'share known' lists them. ask needs a terminal; \
                known refuses all other viewers if there is none.
                """)
    )
    var accept: AcceptChoice = .ask

    @Option(help: ArgumentHelp("Address and TCP port to listen on; port 0 selects a free one.", valueName: "addr:port"))
    var listen = Self.defaultListen

    @Option(
        help: ArgumentHelp(
            "Token with which WHEP players join without a question: 16 characters or more; better in SHARE_TOKEN.",
            valueName: "token"))
    var token: String?

    @Flag(
        help: ArgumentHelp(
            "Print a line of statistics on stderr each second.",
            discussion: """
                With several viewers: the longest rtt and queue, the highest loss, the lowest \
                estimate. layer: all, base (without the upper temporal layer), low (the encoding \
                of a low bitrate), low base (its base layer), none (no video for now). freezes: \
                how often a change waited over 150 ms at this host until it was sent, over all \
                viewers; what the network delays or loses, only viewers can count. recovered: \
                losses after which the video continued without a key frame.
                """))
    var stats = false

    @Option(
        defaultAsFlag: "",
        help: ArgumentHelp(
            "Broadcast to this service and to nobody else; to the preferred one (share pair) without a value.",
            valueName: "id"))
    var preferredExtension: String? = nil

    @Option(
        help: ArgumentHelp(
            "Share over this relay (share relay): its link is the place where viewers meet you.", valueName: "link"))
    var relay: String? = nil

    @Option(
        help: ArgumentHelp(
            "With --relay, how media reaches the viewers: from this machine (direct), from the relay (relay), or both (auto).",
            discussion: """
                You accept each viewer. direct: the relay only passes on who wants to watch; it never has \
                what you share. relay: you send once, and the relay, which can watch, to all viewers. \
                auto: direct for the first viewers; when there are more than --direct-viewers, the relay \
                sends to all of them, and also to one that no direct path reaches. It can watch from then on.
                """))
    var route: RouteChoice = .auto

    @Option(help: ArgumentHelp("With --route auto: so many viewers are sent to from this machine.", valueName: "count"))
    var directViewers = Self.defaultDirectViewers

    @Flag(
        help: ArgumentHelp(
            "With --relay: list this broadcast in the relay's directory, with its link. Who reads it can ask to watch.")
    )
    var listed = false

    @Option(help: ArgumentHelp("Title in the directory; your name if omitted.", valueName: "text"))
    var title: String?

    @Option(
        help: ArgumentHelp("Value for a field that the service asks for; may be repeated.", valueName: "name=value"))
    var field: [String] = []

    @OptionGroup(title: "Camera options") var cameras: CameraOptions

    @OptionGroup(title: "Recording options") var keep: KeepOptions

    @OptionGroup(title: "Network options") var serverOptions: ServerOptions

    @Flag(help: "Ask the router to forward the UDP ports of the media (UPnP).")
    var upnp = false

    @Option(help: ArgumentHelp("Count down this many seconds before anything is captured.", valueName: "seconds"))
    var countdown = 0

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time: 90, 90s, 10m, 2h.", valueName: "time"))
    var duration: Timespan?

    @Flag(help: "Print one JSON event a line on stdout.")
    var json = false

    func validate() throws {
        guard (1...240).contains(fps) else { throw ValidationError("--fps is 1 to 240, not \(fps).") }
        guard (100...100_000).contains(bitrate) else {
            throw ValidationError("--bitrate is 100 to 100000 kbit/s, not \(bitrate).")
        }
        guard (0...3_600).contains(countdown) else {
            throw ValidationError("--countdown is 0 to 3600 seconds, not \(countdown).")
        }
        _ = try ListenAddress(listen)
        guard relay == nil || preferredExtension == nil else {
            throw ValidationError("--relay and --preferred-extension exclude each other.")
        }
        guard relay != nil || !listed else {
            throw ValidationError("--listed is for a broadcast over a relay: give --relay.")
        }
        guard listed || title == nil else { throw ValidationError("--title is for the directory: give --listed.") }
        guard (0...30).contains(directViewers) else {
            throw ValidationError("--direct-viewers is 0 to 30, not \(directViewers).")
        }
        guard directViewers == Self.defaultDirectViewers || relay != nil && route == .auto else {
            throw ValidationError("--direct-viewers is for --relay with --route auto.")
        }
        if relay != nil, route != .relay, let (_, source) = fixedToken {
            throw ValidationError(
                "the token from \(source) would let the relay watch: it passes through it. Leave it out.")
        }
        if let (token, source) = fixedToken, let flaw = FixedToken.flaw(of: token) {
            throw ValidationError(
                "the token from \(source) \(flaw). Whoever has it joins without a question, so make a long one: openssl rand -hex 16"
            )
        }
    }

    /// What is captured; if `--source` is omitted the whole display, or on Wayland what the portal grants.
    var chosenSource: CaptureSource {
        if let source { return source }
        return display == nil && PortalSource.isWayland(ProcessInfo.processInfo.environment) ? .portal : .screen
    }

    private static func windowPattern(_ text: String) throws -> WindowPattern {
        guard let pattern = WindowPattern(text) else {
            throw ValidationError("'\(text)' would hide every window: name a part of a title or class.")
        }
        return pattern
    }

    private static func captureSource(_ text: String) throws -> CaptureSource {
        do throws(CaptureSource.ParseFailure) {
            return try CaptureSource(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// The fixed token for WHEP players, and the name of its source. An empty SHARE_TOKEN counts as none.
    private var fixedToken: (token: String, source: String)? {
        if let token { return (token, "--token") }
        guard let token = ProcessInfo.processInfo.environment["SHARE_TOKEN"], !token.isEmpty else { return nil }
        return (token, "SHARE_TOKEN")
    }

    mutating func run() throws {
        do {
            try chooseSource()
            try host()
        } catch let complaint as Complaint {
            throw complaint.report()
        }
    }

    /// Asks what to share, in a terminal where there is a choice.
    private mutating func chooseSource() throws {
        guard source == nil, chosenSource == .screen, !json, isatty(STDIN_FILENO) == 1, ErrorOutput.isTerminal,
            let found = try? DesktopSources(display: display),
            let picker = SourcePicker(found, cameras: { SourceLine.cameras })
        else { return }
        guard let choice = picker.pick() else {
            throw Complaint(sentence: "nothing was chosen to be shared", status: .declined)
        }
        source = choice
    }

    private func host() throws {
        let hasTerminal = isatty(STDIN_FILENO) == 1
        // Checked here and not in `validate`, so that an invalid option is reported first.
        if preferredExtension == nil, accept == .ask, !hasTerminal {
            throw Complaint(
                sentence: "there is no terminal to ask in",
                remedy: "Choose who may join: --accept known or --accept any.", status: .usage)
        }
        FileDescriptors.raiseLimit()
        let output = DataOutput(isJSON: json)
        let ending = Monitor<EndReason?>(nil)
        Signals.handle { name in
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
        }
        // Before anything is asked or captured.
        let kept = try KeptMedia(keep, name: name, output)
        let system = try makeSystemBroadcast { reason in ending.change { $0 = $0 ?? reason } }
        defer { system?.close() }
        let run = HostRun(
            output: output, ending: ending, system: system, kept: kept, camera: try cameras.makeFeed(chosenSource))
        let configuration = makeConfiguration(try ListenAddress(listen), try serverOptions.servers())
        let identity = try makeIdentity()
        // Nothing is captured before the user has agreed.
        if let relay, route != .relay {
            try broadcastToViewers(overRelay: Self.relay(at: relay), configuration, identity, run)
        } else if let relay {
            try broadcast(to: Self.relay(at: relay), configuration, identity, run)
        } else if let preferredExtension {
            try broadcast(to: Self.installedExtension(preferredExtension), configuration, identity, run)
        } else {
            try broadcastToViewers(configuration, identity, run)
        }
    }

    func broadcastToViewers(
        _ configuration: HostSession.Configuration, _ identity: Identity, _ run: HostRun
    ) throws {
        let media = try makeMedia(run)
        let notifier = KnockNotifier()
        let prompt = Prompt(notify: { notifier.show($0) })
        let admission = AdmissionPolicy(accept, known: KnownViewers(), prompt: prompt)
        let broadcast: PeerBroadcast
        do throws(EndReason) {
            broadcast = try PeerBroadcast(
                media, configuration, identity: identity, decide: { await admission.decide($0) },
                emit: { run.handle($0) })
        } catch {
            throw Complaint(error)
        }
        if isatty(STDIN_FILENO) == 1, accept != .any { prompt.start() }
        // A relay is asked after the countdown.
        if configuration.meeting == nil { Self.countDown(countdown, until: run.ending, run.output) }
        guard run.ending.with({ $0 }) == nil else { return try run.end(broadcast.control) }
        let link: Link
        do throws(EndReason) {
            link = try blocking(throwing: { () throws(EndReason) in try await broadcast.open() })
        } catch {
            throw Complaint(error)
        }
        // Created before the link is printed, so that a viewer's window on this display finds it.
        let mark = chosenSource.isOfDesktop ? try? DisplayCaptureMarker(link.id.text, display: display) : nil
        defer { mark?.close() }
        try serve(broadcast.control, id: link.id, media.summary, service: nil, prompt, run) {
            printLink(link, run.output)
        }
    }

    /// Runs a broadcast that has started to its end.
    /// - Parameters:
    ///   - service: receives it alone; nil for viewers with the link.
    ///   - announce: called when other programs can control it.
    func serve(
        _ broadcast: any ControllableBroadcast, id: BroadcastID, _ summary: String, service: BroadcastDestination?,
        _ prompt: Prompt, _ run: HostRun, announce: () -> Void
    ) throws {
        let control = makeControl(
            broadcast, id: id, source: summary, service: service?.name, clips: run.kept.control,
            camera: run.camera.map { CameraControl($0) },
            stop: { run.stop($0) })
        defer { if let control { blocking { await control.close() } } }
        blocking { await run.kept.record(broadcast) }
        let button = run.kept.watchButton(keep)
        defer { button?.close() }
        announce()
        run.system?.begin(broadcast, service: service, prompt: prompt, run.output)
        report(broadcast, run)
        try run.end(broadcast)
        try run.kept.finish()
    }

    private func makeConfiguration(_ place: ListenAddress, _ servers: [ICEServer]) -> HostSession.Configuration {
        var settings = HostSession.Configuration(
            listenHost: place.host, listenPort: place.port, linkHost: place.linkHost,
            fixedToken: fixedToken?.token, framesPerSecond: fps, maximumBitrate: .kilobits(bitrate),
            contentHint: mode == .text ? .text : mode == .motion ? .motion : nil, name: name)
        settings.iceServers = servers
        settings.usesUPnP = upnp
        settings.usesOnlyRelays = serverOptions.relayOnly
        return settings
    }

    private func printLink(_ link: Link, _ output: DataOutput) {
        if json { output.event("link", ["link": .string(link.text)]) } else { output.line(link.text) }
        ErrorOutput.writeLine("share: give the link above to whoever may watch; Ctrl-C ends it")
        let owner = link.relay == nil ? "my machine's own" : "the relay's own"
        let warning = "Your browser will warn about the certificate, as it is \(owner). Continue, and tell me"
        // Browsers know the certificate of a relay with --tls.
        let request = link.flags.contains(.webPKI) ? "Tell me" : warning
        ErrorOutput.writeLine("share: say with it: \"\(request) the four words that you see.\"")
        if let (_, source) = fixedToken {
            ErrorOutput.writeLine("share: players with the token from \(source) join without a question")
        }
    }

    /// Reports the statistics each second until the broadcast or the time is over.
    private func report(_ broadcast: any ControllableBroadcast, _ run: HostRun) {
        var line = StatusLine()
        let begin = ContinuousClock.now
        let duration = duration?.seconds
        var statisticsLine = StatisticsLine()
        let reportsEachSecond = json || stats || ErrorOutput.isTerminal
        while true {
            let elapsed = seconds(ContinuousClock.now - begin)
            if let duration, elapsed >= duration {
                run.stop(EndReason(.stopped, "the time is over"))
            }
            let next = min(reportsEachSecond ? 1 : .infinity, duration.map { $0 - elapsed } ?? .infinity)
            if waitForEnd(run.ending, seconds: next) != nil { break }
            guard reportsEachSecond else { continue }
            HostReporter.settle()
            guard let statistics = blocking({ await broadcast.statistics() }) else { continue }
            if json { HostReporter.report(statistics, run.output) }
            let now = seconds(ContinuousClock.now - begin)
            if stats { ErrorOutput.writeLine(statisticsLine.text(statistics, elapsed: now)) }
            ErrorOutput.showStatus(line.text(statistics, elapsed: now, columns: ErrorOutput.columns))
        }
    }
}
