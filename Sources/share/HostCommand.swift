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
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Publish this screen and print a link to it.",
        discussion: """
            The first line on stdout is the link. Give it to the people who may watch: they \
            open it in a browser, or with 'share join'. You are asked about each viewer \
            before anything is shown. Ctrl-C ends the broadcast for all viewers.

            share host                                   the screen, or what you choose from a list
            share host --source window:Firefox --mic     one window, with your microphone
            share host --accept any --for 10m            whoever has the link watches, for ten minutes
            """)

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

    @Option(
        help: ArgumentHelp(
            "Name of the broadcast, as viewers see it; your login name and your machine's if omitted.",
            valueName: "text"))
    var name: String?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time: 90, 90s, 10m, 2h.", valueName: "time"))
    var duration: Timespan?

    @Flag(help: "Print one JSON event a line on stdout.")
    var json = false

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

    @OptionGroup(title: "Screen options") var screen: ScreenOptions

    @OptionGroup(title: "Camera options") var cameras: CameraOptions

    @OptionGroup(title: "Recording options") var keep: KeepOptions

    @OptionGroup(title: "Relay and service options") var destination: DestinationOptions

    @OptionGroup(title: "Network options") var listening: ListenOptions

    @OptionGroup(title: "STUN and TURN options") var serverOptions: ServerOptions
}
