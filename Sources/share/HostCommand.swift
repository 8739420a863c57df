import ArgumentParser
import Foundation
import MediaCore
import OpusCodec
import PeerRuntime
import PixelConversion
import PulseAudio
import Signaling
import TestSource
import VPXCodec
import X11Capture

enum SourceChoice: String, ExpressibleByArgument, CaseIterable { case screen, test }
enum ModeChoice: String, ExpressibleByArgument, CaseIterable { case text, motion, auto }
enum AudioChoice: String, ExpressibleByArgument, CaseIterable { case system, none }

struct HostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Publish this screen and print a link to it.",
        discussion: """
            The first line on stdout is the link: give it to whoever may watch. They open \
            it in a browser, or with 'share join'. Each one knocks, and you are asked \
            before anything is shown. Ctrl-C ends it for all.
            """)

    @Option(help: ArgumentHelp("The X display to show; $DISPLAY if not given.", valueName: ":N"))
    var display: String?

    @Option(help: "What to show: the screen, or a moving test picture with sound that needs no display.")
    var source: SourceChoice = .screen

    @Option(help: ArgumentHelp("Pictures a second at most.", valueName: "max"))
    var fps = 60

    @Option(help: ArgumentHelp("Bitrate of the picture at most.", valueName: "kbit"))
    var bitrate = 20_000

    @Option(help: "Sharp first (text), smooth first (motion), or by what the screen does (auto).")
    var mode: ModeChoice = .auto

    @Option(help: "Sound to share: what this machine plays, or none.")
    var audio: AudioChoice = .system

    @Option(
        defaultAsFlag: "",
        help: ArgumentHelp("Share the microphone too: the default one, or this PulseAudio source.", valueName: "source")
    )
    var mic: String? = nil

    @Option(help: ArgumentHelp("What viewers see as the broadcast's name.", valueName: "text"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Who is let in: whom you say (ask), only whom you know (known), or anyone with the link (any).",
            discussion: """
                Whom you once let in 'always' comes in without a question with ask and known; \
                'share known' lists them. Without a terminal, known refuses everybody else.
                """)
    )
    var accept: AcceptChoice = .ask

    @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "addr:port"))
    var listen = "0.0.0.0:0"

    @Option(
        help: ArgumentHelp(
            "Let WHEP players in that have this token, without asking: 16 characters or more; better in SHARE_TOKEN.",
            valueName: "token"))
    var token: String?

    @Flag(
        help: ArgumentHelp(
            "A line of statistics each second on stderr.",
            discussion: """
                Of several viewers: the longest rtt and queue, the highest loss, the lowest \
                estimate. layer: all, base (fewer pictures), low (an encoding for the slow), \
                low base (fewer pictures of that), none (cut off for now). freezes: times over 150 ms for which a viewer waited \
                on this side for a change to be sent, of all viewers; what is lost on the \
                way only they can see. recovered: after a loss, without a key frame.
                """))
    var stats = false

    @OptionGroup(title: "The way to viewers") var paths: PathOptions

    @Flag(help: "Ask the router to forward the ports for media (UPnP).")
    var upnp = false

    @Option(name: .customLong("for"), help: ArgumentHelp("End after that time: 90, 90s, 10m, 2h.", valueName: "time"))
    var duration: Timespan?

    @Flag(help: "One JSON event a line on stdout.")
    var json = false

    func validate() throws {
        guard (1...240).contains(fps) else { throw ValidationError("--fps is 1 to 240, not \(fps).") }
        guard (100...100_000).contains(bitrate) else {
            throw ValidationError("--bitrate is 100 to 100000 kbit/s, not \(bitrate).")
        }
        _ = try ListenAddress(listen)
        if let (token, source) = fixedToken, let flaw = FixedToken.flaw(of: token) {
            throw ValidationError(
                "the token from \(source) \(flaw). Whoever has it gets in unasked, so make a long one: openssl rand -hex 16"
            )
        }
    }

    /// The fixed token for WHEP players, and the name of its source. An empty SHARE_TOKEN counts as none.
    private var fixedToken: (token: String, source: String)? {
        if let token { return (token, "--token") }
        guard let token = ProcessInfo.processInfo.environment["SHARE_TOKEN"], !token.isEmpty else { return nil }
        return (token, "SHARE_TOKEN")
    }

    func run() throws {
        do {
            try host()
        } catch let complaint as Complaint {
            throw complaint.say()
        }
    }

    private func host() throws {
        let hasTerminal = isatty(STDIN_FILENO) == 1
        // Checked here and not in `validate`, so that an invalid option is reported first.
        if accept == .ask, !hasTerminal {
            throw Complaint(
                sentence: "there is no terminal to ask in",
                remedy: "Say who may come in: --accept known or --accept any.", status: .usage)
        }
        FileDescriptors.raiseLimit()
        let output = DataOutput(isJSON: json)
        let ending = Monitor<EndReason?>(nil)
        Signals.handle { name in
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
        }
        let place = try ListenAddress(listen)
        let servers = try paths.servers()
        let identity = try makeIdentity()
        let (screen, sound) = try makeSources()
        Words.say("share: showing \(screen.summary)")
        for limitation in screen.limitations { Words.say("share: \(limitation)") }

        let notifier = KnockNotifier()
        let prompt = Prompt(notify: { notifier.tell($0) })
        let door = AdmissionPolicy(accept, known: KnownViewers(), prompt: prompt)
        let session: HostSession
        var settings = HostSession.Configuration(
            listenHost: place.host, listenPort: place.port, linkHost: place.linkHost,
            fixedToken: fixedToken?.token, framesPerSecond: fps, maximumBitrate: .kilobits(bitrate),
            contentHint: mode == .text ? .text : mode == .motion ? .motion : nil, name: name)
        settings.iceServers = servers
        settings.usesUPnP = upnp
        settings.usesOnlyRelays = paths.relayOnly
        do throws(CodecFailure) {
            session = try HostSession(
                configuration: settings,
                identity: identity, source: screen, encoder: VP8Encoder(), audio: sound,
                door: { await door.decide($0) },
                emit: { event in
                    HostNarrator.tell(event, output)
                    if case .ended(let reason) = event { ending.change { $0 = $0 ?? reason } }
                })
        } catch {
            throw Complaint(sentence: "the encoder does not start: \(error.message)", status: .failed)
        }

        if hasTerminal, accept != .any { prompt.start() }
        let link = try start(session)
        // Created before the link is printed, so that a viewer's window on this display finds it.
        let mark = source == .screen ? try? CaptureMark(link.id.text, display: display) : nil
        defer { mark?.close() }
        if json { output.event("link", ["link": .string(link.text)]) } else { output.line(link.text) }
        Words.say("share: give the link above to whoever may watch; Ctrl-C ends it")
        Words.say(
            """
            share: say with it: "Your browser will warn about the certificate, as it is my machine's own. Continue, and \
            tell me the four words that you see."
            """)
        if let (_, source) = fixedToken {
            Words.say("share: players with the token from \(source) get in without a question")
        }

        var line = StatusLine()
        let begin = ContinuousClock.now
        let duration = duration?.seconds
        var statisticsLine = StatisticsLine()
        let reportsEachSecond = json || stats || Words.isTerminal
        while true {
            let elapsed = seconds(ContinuousClock.now - begin)
            if let duration, elapsed >= duration {
                ending.change { $0 = $0 ?? EndReason(.stopped, "the time is over") }
            }
            let next = min(reportsEachSecond ? 1 : .infinity, duration.map { $0 - elapsed } ?? .infinity)
            if waitForEnd(ending, seconds: next) != nil { break }
            guard reportsEachSecond else { continue }
            HostNarrator.settle()
            guard let statistics = blocking({ await session.statistics() }) else { continue }
            if json { HostNarrator.tell(statistics, output) }
            let now = seconds(ContinuousClock.now - begin)
            if stats { Words.say(statisticsLine.text(statistics, elapsed: now)) }
            Words.showStatus(line.text(statistics, elapsed: now, columns: Words.columns))
        }
        let reason = ending.with { $0 } ?? EndReason(.stopped, "ended")
        Words.showStatus("")
        blocking { await session.stop(reason) }
        HostNarrator.settle(isEnd: true)
        output.ended(reason)
        guard reason.code == .stopped else {
            throw Complaint(sentence: reason.sentence, remedy: reason.remedy, status: reason.status)
        }
        Words.say("share: \(reason.sentence)")
    }

    private func start(_ session: HostSession) throws -> Link {
        let result: Result<Link, EndReason> = blocking {
            do throws(EndReason) { return .success(try await session.start()) } catch { return .failure(error) }
        }
        switch result {
        case .success(let link): return link
        case .failure(let reason):
            throw Complaint(sentence: reason.sentence, remedy: reason.remedy, status: reason.status)
        }
    }

    private func makeSources() throws -> (any ScreenSource, [AudioInput]) {
        var sound: [AudioInput] = []
        let screen: any ScreenSource
        switch source {
        case .test:
            screen = TestVideoSource()
            if audio == .system { sound.append(input("system", TestTone(), isVoice: false)) }
        case .screen:
            do throws(SourceFailure) {
                screen = try X11Screen(display: display, converter: YUVConverter())
            } catch {
                throw Complaint(sentence: error.message, remedy: error.remedy, status: .noDisplay)
            }
            if audio == .system { sound.append(input("system", SystemAudio(), isVoice: false)) }
        }
        if let mic { sound.append(input("microphone", Microphone(source: mic.isEmpty ? nil : mic), isVoice: true)) }
        return (screen, sound)
    }

    private func input(_ label: String, _ source: any AudioSource, isVoice: Bool) -> AudioInput {
        AudioInput(label: label, source: source, hasSilenceSuppression: isVoice) { () throws(CodecFailure) in
            try OpusFrameEncoder(isVoice ? .microphone : .systemSound)
        }
    }
}

/// The value of `--listen`: "ADDR:PORT", with IPv6 in brackets.
struct ListenAddress {
    var host: String
    var port: Int
    /// The address in the link.
    var linkHost: String

    init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw ValidationError("--listen is ADDR:PORT, as 0.0.0.0:8443 or [::1]:0, not '\(text)'.") }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host.isEmpty || host == "*" { host = "0.0.0.0" }
        self.host = host
        self.port = port
        linkHost = host == "0.0.0.0" || host == "::" ? LocalAddresses.preferred() : host
    }
}

func makeIdentity() throws -> Identity {
    do throws(IdentityError) {
        return try Identity.loadOrCreate()
    } catch {
        throw Complaint(sentence: error.description, status: .failed)
    }
}
