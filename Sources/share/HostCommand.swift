import ArgumentParser
import CommandSupport
import MediaCore

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
                auto: direct for the first viewers; when there are more than --direct-viewers, or too many for \
                this machine's line, the relay sends to all of them, and also to one that no direct path \
                reaches. It can watch from then on.
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
}
