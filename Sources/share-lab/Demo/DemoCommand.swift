import ArgumentParser
import CommandSupport
import FoundationEssentials
import Host
import LinuxRuntime
import MediaCore

struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Run a host and a viewer on this machine, and print measurements.",
        discussion: """
            Shares a virtual display of its own (Xvfb) on which a desktop is drawn, or a test \
            video if there is no Xvfb, and shows it in a window. Without a display for \
            the window, the last frame is saved instead. Ends by itself.
            """)

    @Option(name: .customLong("for"), help: ArgumentHelp("How long to watch: 90, 90s, 10m.", valueName: "time"))
    var duration = Timespan(seconds: 5)

    @Flag(help: "Play the examples Budget and Conference: an app that broadcasts itself to a service.")
    var pairing = false

    @Flag(
        help: """
            Run a cluster: a NATS server, three relays, one host and the viewers. One relay is killed, and then the \
            one that the host publishes to.
            """)
    var relay = false

    @Option(help: ArgumentHelp("Viewers of --relay.", valueName: "count"))
    var viewers = 200

    @Option(
        help: ArgumentHelp("File for the last frame if there is no window, or with --pairing.", valueName: "file.png"))
    var snapshot = "share-demo.png"

    func validate() throws {
        guard !(relay && pairing) else { throw ValidationError("--relay and --pairing are two demos.") }
        guard (3...600).contains(viewers) else { throw ValidationError("--viewers is 3 to 600.") }
    }

    func run() throws {
        try complaining {
            if relay {
                try RelayDemo(seconds: duration.seconds, viewers: viewers).run()
            } else if pairing {
                try PairingDemo(seconds: duration.seconds, snapshot: snapshot).run()
            } else {
                try demo()
            }
        }
    }

    private func demo() throws {
        let environment = ProcessInfo.processInfo.environment
        let showsWindow = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
        if !showsWindow { try OutputFile.check(snapshot) }
        let stage = DemoStage()
        Signals.handle { _ in stage.close() }
        defer { stage.close() }
        try stage.open()
        // With another display as the session's, this is no system broadcast, of which there is one only.
        let host = try DemoChild(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json"] + stage.hostArguments,
            environment: showsWindow ? [:] : ["DISPLAY": "none"])
        defer { host.end() }
        stage.adopt(host)
        var first = host.readEvent()
        while let event = first, event.name != "link" { first = host.readEvent() }
        guard let link = first?.text("link") else {
            throw CommandError(sentence: "the host did not start: \(host.errorText)", status: .failed)
        }
        let begin = ContinuousClock.now
        var arguments = ["join", "--json", "--name", "demo", "--for", "\(duration.seconds)"]
        if !showsWindow { arguments += ["--headless", "--snapshot", snapshot] }
        let viewer = try DemoChild(arguments, environment: ["SHARE_LINK": link])
        defer { viewer.end() }
        stage.adopt(viewer)

        ErrorOutput.writeLine("share: watching \(stage.words) for \(Int(duration.seconds.rounded(.up))) s ...")
        show(try measure(viewer, host, since: begin))
        if !showsWindow { print("last frame     \(snapshot)") }
        ErrorOutput.writeLine("share: to show your own screen: share host (in a clone: Scripts/share host)")
    }

    /// The figures of the viewer's events.
    private struct Measurements {
        var firstPicture: Duration
        /// The viewer's last statistics.
        var last: ProgramEvent
        var framesPerSecond: Double
        var bitsPerSecond: Double
        /// CPU seconds in a second.
        var hostCPU: Double
    }

    /// Reads the viewer's events until it ends.
    private func measure(
        _ viewer: DemoChild, _ host: DemoChild, since begin: ContinuousClock.Instant
    ) throws -> Measurements {
        var firstPicture: Duration?
        var start: (frames: Int, bytes: Int, cpu: Double, at: ContinuousClock.Instant)?
        var last = ProgramEvent()
        var lastAt = begin
        while let event = viewer.readEvent() {
            switch event.name {
            case "first-picture":
                firstPicture = ContinuousClock.now - begin
            case "statistics":
                last = event
                lastAt = .now
                if start == nil {
                    start = (
                        event.integer("frames") ?? 0, event.integer("receivedBytes") ?? 0, host.cpuSeconds, .now
                    )
                }
            case "ended":
                if event.text("code") != "stopped" {
                    throw CommandError(
                        sentence: event.text("reason") ?? "it ended",
                        status: event.text("code") == "sourceGone" ? .noDisplay : .failed)
                }
            default: break
            }
        }
        guard let firstPicture, let start, lastAt > start.at else {
            throw CommandError(sentence: "no frame was received: \(viewer.errorText)\(host.errorText)", status: .failed)
        }
        let elapsed = seconds(lastAt - start.at)
        return Measurements(
            firstPicture: firstPicture, last: last,
            framesPerSecond: Double((last.integer("frames") ?? 0) - start.frames) / elapsed,
            bitsPerSecond: Double((last.integer("receivedBytes") ?? 0) - start.bytes) * 8 / elapsed,
            hostCPU: (host.cpuSeconds - start.cpu) / elapsed)
    }

    private func show(_ measured: Measurements) {
        let (last, frames) = (measured.last, measured.framesPerSecond)
        print("frame size     \(last.integer("width") ?? 0) x \(last.integer("height") ?? 0), encrypted, over loopback")
        print("first frame    \(Int(seconds(measured.firstPicture) * 1_000)) ms after join")
        print(
            "frames         "
                + (frames > 0
                    ? "\(frames.text(decimals: 1)) a second" : "none: nothing moved, so nothing was sent"))
        if let median = last.number("latencyP50Ms"), let high = last.number("latencyP95Ms") {
            print("latency        \(median) ms (median), \(high) ms (95 %), capture to shown")
        }
        print("bitrate        \(RateText.text(measured.bitsPerSecond))")
        print("host CPU       \(Int(measured.hostCPU * 1_000)) ms a second")
    }
}
