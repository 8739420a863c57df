import ArgumentParser
import CommandSupport
import MediaCore

/// What most people choose of a host. `share help host` shows these options alone.
struct CommonHostOptions: ParsableArguments {
    @Option(
        help: .common(
            "What to share: screen (all of the display), monitor:N, window:ID, region:WxH+X+Y, portal (the default on Wayland), camera:N, test.",
            details: """
                If omitted, a list to choose from is shown in a terminal where there is a choice; else screen. \
                A monitor has a number or a name, a window an id or a part of its title: share sources lists \
                them. test is a video with a tone, which needs no display.
                """, valueName: "source"),
        transform: HostCommand.captureSource)
    var source: CaptureSource?

    @Option(
        help: .common(
            "Audio to share: what this machine plays (system), what one application plays (app:NAME), or none.",
            details: """
                What share join plays on this machine is never part of it. NAME is an application's name, \
                program or process id, or the title of what it plays; it need not play yet.
                """, valueName: "audio"))
    var audio: AudioChoice = .system

    @Option(
        defaultAsFlag: "",
        help: .common(
            "Also share the microphone: the default one, or this PulseAudio source.", valueName: "source")
    )
    var mic: String? = nil

    @Option(
        help: .common(
            "Who may join: viewers that you accept (ask), known viewers (known), or anyone with the link (any).",
            details: """
                Viewers that you accepted with 'always' are known: with ask and known, they \
                join without a question; 'share known' lists them. ask needs a terminal; \
                known refuses all other viewers if there is none.
                """)
    )
    var accept: AcceptChoice = .ask

    @Option(
        help: .common(
            "Whether viewers may write comments: no, after a question to you (ask), or yes.",
            details: """
                'share grant' and 'share revoke' change it for one viewer, 'share say' writes one.
                """, valueName: "right"))
    var comments: RightState = .ask

    @Flag(
        name: .customLong("show-viewers"),
        help: .common("Tell viewers the names of those who watch; otherwise they are told how many."))
    var showsViewers = false

    @Option(
        help: .common(
            "Whether viewers may point at the picture: no, after a question to you (ask), or yes.", valueName: "right"))
    var pointer: RightState = .ask

    @Option(
        help: .common(
            "Whether a viewer may control your pointer and keyboard: no, after a question to you (ask), or yes.",
            details: """
                Of a display, a monitor, a region or a window of X11, and on Wayland of a monitor. One viewer at a \
                time does. What you do on this machine goes first; the key x here takes the control back. 'share \
                grant VIEWER control' gives it with any of the three, on Wayland with ask and yes, as the desktop is \
                asked at the start. 'yes' lets in everybody who may join.
                """, valueName: "right"))
    var control: RightState = .no

    @Option(
        help: .common(
            "Name of the broadcast, as viewers see it; your login name and your machine's if omitted.",
            valueName: "text"))
    var name: String?

    @Option(name: .customLong("for"), help: .common("End after this time: 90, 90s, 10m, 2h.", valueName: "time"))
    var duration: Timespan?
}

extension HostCommand {
    var source: CaptureSource? {
        get { common.source }
        set { common.source = newValue }
    }
    var audio: AudioChoice {
        get { common.audio }
        set { common.audio = newValue }
    }
    var mic: String? {
        get { common.mic }
        set { common.mic = newValue }
    }
    var accept: AcceptChoice { common.accept }
    var viewerRights: ViewerRights {
        ViewerRights(comment: common.comments, point: common.pointer, control: common.control)
    }
    var name: String? { common.name }
    var duration: Timespan? {
        get { common.duration }
        set { common.duration = newValue }
    }
}
