import Admission
import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import PixelConversion
import PulseAudio
import Recording
import Service
import ShareKit
import Signaling
import Viewer
import WindowPlayout

struct ServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service", abstract: "Take broadcasts in as a service that hosts pair with.",
        usage: HelpScope.usage("share service [<options>] --id <id>"),
        discussion: """
            The first line on stdout is the service's link. A host installs it with \
            'share extension install LINK', and broadcasts to it with \
            'share host --preferred-extension ID'. If stdin is not a terminal, each line of \
            it is a command: {"viewers":12}, {"likes":3}, \
            {"comment":{"name":"Ann","text":"hello"}}, {"url":"https://..."} or \
            {"finish":{"reason":"...","nextStep":"..."}}. With --relay, hosts reach the \
            service over a relay (share relay), and send their media to it directly.
            """ + HelpScope.hint("snapshots, recordings, commands, tokens, STUN and TURN"))

    @OptionGroup var service: ServiceDescriptionOptions

    @Option(
        help:
            "Whose broadcasts to take: those that you accept (ask), of known hosts (known), or of all with this link (any)."
    )
    var accept: AcceptChoice = .ask

    @Option(help: .listen) var listen: String?

    @Option(
        help: .common(
            "Let hosts reach this service over this relay (share relay): its link, which the service's link then names.",
            details: """
                For a service that nobody can reach. The relay passes on what hosts and service \
                say to each other; it gets none of their media.
                """, valueName: "link"))
    var relay: String?

    @Flag(help: "Open no window. --snapshot still saves the last frame.")
    var headless = false

    @Option(help: .rest("Save the last frame of each broadcast to this file.", valueName: "file.png"))
    var snapshot: String?

    @Option(
        help: .rest(
            "Record each broadcast to a file in this folder, as it comes, in WebM.", valueName: "folder"))
    var record: String?

    @Option(
        help: .rest(
            "Shell command to run for each broadcast; SHARE_APPLICATION, SHARE_APPLICATION_ID, SHARE_ADDRESS and "
                + "SHARE_SETUP (JSON) say which.", valueName: "command"))
    var onBroadcast: String?

    @Option(
        help: .rest(
            "Token with which WHIP tools publish without a question: 16 characters or more; better in SHARE_TOKEN.",
            valueName: "token"))
    var token: String?

    @OptionGroup(title: "Network options", visibility: HelpScope.rest) var serverOptions: ServerOptions

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time: 90, 90s, 10m, 2h.", valueName: "time"))
    var duration: Timespan?

    @Flag(help: .rest("Print one JSON event a line on stdout."))
    var json = false

    /// How many broadcasts are taken at a time without a window. A window shows one.
    private static let headlessCapacity = 4

    func validate() throws {
        _ = try ListenAddress(listen)
        _ = try service.description(terms: nil, icon: nil)
        if relay != nil, let source = token != nil ? "--token" : fixedToken.map({ _ in "SHARE_TOKEN" }) {
            throw ValidationError(
                "the token from \(source) would let the relay publish: it passes through it. Leave it out.")
        }
        if let token, let flaw = FixedToken.flaw(of: token) {
            throw ValidationError("the token from --token \(flaw). Make a long one: openssl rand -hex 16")
        }
    }

    func run() throws { try complaining { try serve() } }

    private func serve() throws {
        // No host on this machine shares what this viewer plays.
        OwnPlayback.markProcess()
        let hasTerminal = isatty(STDIN_FILENO) == 1
        if accept == .ask, !hasTerminal, !WindowQuestion.isPossible {
            throw CommandError(
                sentence: "there is no terminal to ask in, and no display",
                remedy: "Choose whose broadcasts to take: --accept known or --accept any.", status: .usage)
        }
        FileDescriptors.raiseLimit()
        if let snapshot { try OutputFile.check(snapshot) }
        if let record { try RecordTarget.checkFolder(record) }
        let place = try ListenAddress(listen)
        var configuration = ServiceConfiguration(try service.description(), fixedToken: fixedToken)
        // Whoever has the link may broadcast.
        if accept == .any { configuration.linkSecret = try linkSecret(of: configuration.description.id) }
        configuration.iceServers = try serverOptions.servers()
        configuration.sessionCapacity = headless ? Self.headlessCapacity : 1
        let identity = try makeIdentity()
        let prompt = Prompt.withNotifications()
        let policy = PairingPolicy(
            accept, known: KnownViewers(file: "known-hosts"), prompt: prompt,
            askElsewhere: hasTerminal ? nil : WindowPrompt.ofProcess.askElsewhere)
        let ending = Monitor<EndReason?>(nil)
        let window = try headless ? nil : makeWindow(configuration.description)
        let reporter = ServiceReporter(
            output: DataOutput(isJSON: json, beginsWithLink: true), snapshot: snapshot, recordings: record,
            command: onBroadcast,
            window: window, title: Self.windowTitle(configuration.description))
        Signals.handle { name in
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
            window?.stop()
        }
        let settings = try settings(place, configuration)
        let broadcasts = BroadcastService(
            settings, identity: identity, decide: { await policy.decide($0) },
            makeSink: { id, publisher in reporter.makeSink(id, publisher) }, emit: { reporter.report($0) })
        if hasTerminal, accept != .any { prompt.start() }
        let link = try start(broadcasts)
        do throws(CommandError) {
            try reporter.begin(link)
        } catch {
            blocking { await broadcasts.stop() }
            throw error
        }
        if !hasTerminal { reporter.readCommands(for: broadcasts) }
        run(window, until: ending)
        let reason = ending.with { $0 } ?? EndReason(.stopped, "ended")
        blocking { await broadcasts.stop() }
        reporter.end(reason)
        guard reason.code == .stopped else {
            throw CommandError(reason)
        }
        if let failure = reporter.recordingFailure { throw failure }
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }

    private func settings(
        _ place: ListenAddress, _ service: ServiceConfiguration
    ) throws -> ServiceSession.Configuration {
        var settings = ServiceSession.Configuration(
            listenHost: place.host, listenPort: place.port, linkHost: place.linkHost, service: service)
        (settings.furtherPorts, settings.mediaPorts) = (place.furtherPorts, place.mediaPorts)
        settings.videoCodecs = recordsOnly ? RecordingFormat.videoCodecs : VideoDecoders.installed.codecs
        if let relay {
            settings.relay = try Self.relay(relay)
            settings.relayIdentity = try makeIdentity(of: service.description.id)
            // Nobody has to reach this server.
            if listen == nil { (settings.listenHost, settings.listenPort) = ("127.0.0.1", 0) }
        }
        return settings
    }

    private static func relay(_ text: String) throws(CommandError) -> ServiceLink {
        let link: ServiceLink
        do throws(LinkError) {
            link = try ServiceLink(parsing: text)
        } catch {
            throw CommandError(error)
        }
        guard link.relay == nil else {
            throw CommandError(
                sentence: "this is the link of a service that is reached over a relay, and not the relay's own",
                remedy: "Give the link that share relay prints.", status: .badLink)
        }
        return link
    }

    /// Nothing has to be decoded, so any codec will do.
    private var recordsOnly: Bool { headless && record != nil && snapshot == nil }

    private var fixedToken: String? {
        if let token { return token }
        return ProcessInfo.processInfo.environment["SHARE_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func windowTitle(_ service: ServiceDescription) -> String { "\(service.name) - share" }

    private func makeWindow(_ service: ServiceDescription) throws -> VideoWindow {
        do throws(SourceFailure) {
            return try VideoWindow(
                title: Self.windowTitle(service), converter: YUVConverter(), place: WindowMemory.place,
                awaitsAudio: true)
        } catch {
            throw CommandError(sentence: error.message, remedy: "Run without a window: --headless.", status: .noDisplay)
        }
    }

    private func start(_ service: BroadcastService) throws -> ServiceLink {
        if relay != nil { ErrorOutput.showStatus("share: registering at the relay ...") }
        defer { ErrorOutput.showStatus("") }
        do throws(EndReason) {
            return try blocking(throwing: { () throws(EndReason) in try await service.open() })
        } catch {
            throw CommandError(error)
        }
    }

    /// Blocks until the window is closed, a signal comes, or the time is over.
    private func run(_ window: VideoWindow?, until ending: Monitor<EndReason?>) {
        if let duration = duration?.seconds {
            _ = NamedThread("clock") {
                guard waitForEnd(ending, seconds: duration) == nil else { return }
                ending.change { $0 = $0 ?? EndReason(.stopped, "the time is over") }
                window?.stop()
            }
        }
        guard let window else {
            _ = waitForEnd(ending, seconds: .infinity)
            return
        }
        do throws(SourceFailure) {
            _ = try window.run()
            ending.change { $0 = $0 ?? EndReason(.stopped, "you closed the window") }
            WindowMemory.keep(window)
        } catch {
            ending.change { $0 = $0 ?? EndReason(error) }
        }
    }
}
