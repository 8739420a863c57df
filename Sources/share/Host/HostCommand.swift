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
        usage: HelpScope.usage("share host [<options>]"),
        discussion: """
            The first line on stdout is the link. Give it to the people who may watch: they \
            open it in a browser, or with 'share join'. You are asked about each viewer \
            before anything is shown. Ctrl-C ends the broadcast for all viewers.

            share host                                  the screen, or what you choose
            share host --source window:Firefox --mic    one window, and your microphone
            share host --accept any --for 10m           whoever has the link watches
            """
                + HelpScope.hint(
                    "cursor, cameras, recordings and clips, relays and services, ports, STUN and TURN"))

    @OptionGroup(title: "Common options") var common: CommonHostOptions

    @OptionGroup(title: "Screen options", visibility: HelpScope.rest) var screen: ScreenOptions

    @OptionGroup(title: "Camera options", visibility: HelpScope.rest) var cameras: CameraOptions

    @OptionGroup(title: "Recording options", visibility: HelpScope.rest) var keep: KeepOptions

    @OptionGroup(title: "Relay and service options", visibility: HelpScope.rest) var destination: DestinationOptions

    @OptionGroup(title: "Network options", visibility: HelpScope.rest) var listening: ListenOptions

    @OptionGroup(title: "STUN and TURN options", visibility: HelpScope.rest) var serverOptions: ServerOptions

    @Flag(help: .rest("Print one JSON event a line on stdout."))
    var json = false

    @Flag(name: .customLong("no-qr"), help: .rest("Show no QR code of the link."))
    var noQR = false

    @Flag(
        help: .rest(
            "Have the terminal copy the link to the clipboard (OSC 52), also over ssh; not all terminals do."))
    var copy = false

    @Flag(
        help: .rest(
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
}
