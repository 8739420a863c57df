import ArgumentParser
import CommandSupport
import MediaCore

/// How the screen is captured and encoded.
struct ScreenOptions: ParsableArguments {
    @Option(help: ArgumentHelp("X display to capture; $DISPLAY if omitted.", valueName: ":N"))
    var display: String?

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
        transform: HostCommand.windowPattern)
    var hideWindow: [WindowPattern] = []

    @Option(help: ArgumentHelp("Maximum frame rate on average, in frames per second, to 2 %.", valueName: "max"))
    var fps = 60

    @Option(help: ArgumentHelp("Maximum bitrate of the video, in kbit/s.", valueName: "kbit"))
    var bitrate = 20_000

    @Option(
        help: "Content hint: prefer sharpness (text) or frame rate (motion), or choose by the content (auto).")
    var mode: ModeChoice = .auto

    @Option(help: ArgumentHelp("Count down this many seconds before anything is captured.", valueName: "seconds"))
    var countdown = 0
}

/// Where the broadcast goes instead of directly to viewers.
struct DestinationOptions: ParsableArguments {
    static let defaultDirectViewers = 3

    @Option(
        help: ArgumentHelp(
            "Share over this relay (share relay): viewers reach you over it, and its address is in your link.",
            valueName: "link"))
    var relay: String? = nil

    @Option(
        help: ArgumentHelp(
            "With --relay, how media reaches the viewers: from this machine (direct), from the relay (relay), or both (auto).",
            discussion: """
                You accept each viewer. direct: the relay only passes on who wants to watch; it never has \
                what you share. relay: you send once, and the relay to all viewers, who do not learn this \
                machine's address. auto: direct for the first viewers; when there are more than \
                --direct-viewers, or too many for this machine's line, the relay sends to all of them, and also \
                to one that no direct path reaches. What it gets is encrypted for the viewers, unless you say \
                --relay-may-watch.
                """))
    var route: RouteChoice = .auto

    @Option(help: ArgumentHelp("With --route auto: so many viewers are sent to from this machine.", valueName: "count"))
    var directViewers = Self.defaultDirectViewers

    @Flag(
        help: ArgumentHelp(
            "With --route auto or relay: publish without end-to-end encryption, so that the relay can watch.",
            discussion: """
                Viewers whose programs or browsers cannot open what is encrypted can watch then. With --route relay, \
                or a relay as --preferred-extension, the link is the relay's, and WHEP players that have it watch, too.
                """))
    var relayMayWatch = false

    @Flag(
        help: ArgumentHelp(
            "With --relay: list this broadcast in the relay's directory, with its link. Who reads it can ask to watch.")
    )
    var listed = false

    @Option(
        help: ArgumentHelp(
            "Title of the broadcast, in the directory and for --on-live; your name if omitted.", valueName: "text"))
    var title: String?

    @Flag(
        help: ArgumentHelp(
            "On X11: tell the service, the extension or the relay's directory which application is in front: its class, name and icon.",
            discussion:
                "On each change; windows that are hidden are not told of. Viewers with the link see it in the picture."
        ))
    var tellApplication = false

    @Option(
        help: ArgumentHelp(
            "Shell command that is run once when the broadcast's link is known: SHARE_URL and SHARE_TITLE say it.",
            discussion: "They are in its environment, not in its arguments, which other users can read.",
            valueName: "command"))
    var onLive: String?

    @Option(
        defaultAsFlag: "",
        help: ArgumentHelp(
            "Broadcast to this service and to nobody else; to the preferred one (share pair) without a value.",
            discussion: """
                A relay passes it on to the viewers whom you accept, as with --relay and --route relay: it is encrypted \
                for them, unless you say --relay-may-watch.
                """, valueName: "id"))
    var preferredExtension: String? = nil

    @Option(
        help: ArgumentHelp(
            "Value for a field that the service asks for; NAME=-: a line of stdin; may be repeated.",
            discussion: """
                Other users of this machine can read arguments: secrets are better in a file (--field-file), or \
                in SHARE_FIELD_NAME in the environment, with the field's name in capitals and _ for -.
                """, valueName: "name=value"))
    var field: [String] = []

    @Option(
        help: ArgumentHelp(
            "The first line of a file as the value of a field; may be repeated.", valueName: "name=file"))
    var fieldFile: [String] = []
}

extension ArgumentHelp {
    /// Of `--listen` of a host and a service.
    static let listen: ArgumentHelp = .common(
        "Address and TCP port to listen on; port 0 selects free ports, also for media.",
        details: """
            Without it: all addresses, and port \(DefaultPorts.signaling), or the next free one of the \(DefaultPorts.further) \
            after it. Media uses the UDP ports \(DefaultPorts.media.lowerBound) to \(DefaultPorts.media.upperBound).
            """, valueName: "addr:port")
}

/// Where the host listens.
struct ListenOptions: ParsableArguments {
    @Option(help: .listen) var listen: String?

    @Option(
        help: ArgumentHelp(
            "Token with which WHEP players join without a question: 16 characters or more; better in SHARE_TOKEN.",
            valueName: "token"))
    var token: String?

    @Flag(help: "Ask the router to forward the UDP ports of the media (UPnP).")
    var upnp = false

    @Flag(
        help: ArgumentHelp(
            "Tell the local network (mDNS) that something is shown, and by whom: 'share list' shows it there.",
            discussion: """
                Needs avahi-daemon. The link's secret is not told. Who joins from there is asked about as somebody without the \
                link: compare the four words.
                """))
    var announce = false
}

extension HostCommand {
    var display: String? { screen.display }
    var askAgain: Bool { screen.askAgain }
    var cursor: CursorChoice { screen.cursor }
    var hideWindow: [WindowPattern] { screen.hideWindow }
    var fps: Int { screen.fps }
    var bitrate: Int { screen.bitrate }
    var mode: ModeChoice { screen.mode }
    var countdown: Int { screen.countdown }

    var relay: String? { destination.relay }
    var route: RouteChoice { destination.route }
    var directViewers: Int { destination.directViewers }
    var relayMayWatch: Bool { destination.relayMayWatch }
    var listed: Bool { destination.listed }
    var title: String? { destination.title }
    var onLive: String? { destination.onLive }
    var tellApplication: Bool { destination.tellApplication }
    var preferredExtension: String? { destination.preferredExtension }
    var field: [String] { destination.field }
    var fieldFile: [String] { destination.fieldFile }

    var listen: String? { listening.listen }
    var token: String? { listening.token }
    var upnp: Bool { listening.upnp }
    var announce: Bool { listening.announce }
}
