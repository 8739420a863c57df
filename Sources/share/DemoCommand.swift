import ArgumentParser
import Foundation
import LinuxRuntime
import Sessions

struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Run a host and a viewer on this machine, and print measurements.",
        discussion: """
            Shares a virtual display of its own (Xvfb) that shows a test video, or the test \
            video itself if there is no Xvfb, and shows it in a window. Without a display for \
            the window, the last frame is saved instead. Ends by itself.
            """)

    @Option(name: .customLong("for"), help: ArgumentHelp("How long to watch: 90, 90s, 10m.", valueName: "time"))
    var duration = Timespan(seconds: 5)

    @Option(help: ArgumentHelp("File for the last frame if there is no window.", valueName: "file.png"))
    var snapshot = "share-demo.png"

    func run() throws {
        do {
            try demo()
        } catch let complaint as Complaint {
            throw complaint.report()
        }
    }

    private func demo() throws {
        let environment = ProcessInfo.processInfo.environment
        let showsWindow = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
        if !showsWindow { try OutputFile.check(snapshot) }
        let stage = Stage()
        Signals.handle { _ in stage.close() }
        defer { stage.close() }
        try stage.open()
        // With another display as the session's, this is no system broadcast, of which there is one only.
        let host = try Child(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json"] + stage.hostArguments,
            environment: showsWindow ? [:] : ["DISPLAY": "none"])
        defer { host.end() }
        stage.adopt(host)
        guard let first = host.readEvent(), let link = first["link"] as? String else {
            throw Complaint(sentence: "the host did not start: \(host.errorText)", status: .failed)
        }
        let begin = ContinuousClock.now
        var arguments = ["join", "--json", "--name", "demo", "--for", "\(duration.seconds)"]
        if !showsWindow { arguments += ["--headless", "--snapshot", snapshot] }
        let viewer = try Child(arguments, environment: ["SHARE_LINK": link])
        defer { viewer.end() }
        stage.adopt(viewer)

        ErrorOutput.writeLine("share: watching \(stage.words) for \(Int(duration.seconds.rounded(.up))) s ...")
        var firstPicture: Duration?
        var start: (frames: Int, bytes: Int, cpu: Double, at: ContinuousClock.Instant)?
        var last: [String: Any] = [:]
        var lastAt = begin
        while let event = viewer.readEvent() {
            switch event["event"] as? String {
            case "first-picture":
                firstPicture = ContinuousClock.now - begin
            case "statistics":
                last = event
                lastAt = .now
                if start == nil {
                    start = (
                        event["frames"] as? Int ?? 0, event["receivedBytes"] as? Int ?? 0, host.cpuSeconds, .now
                    )
                }
            case "ended":
                if event["code"] as? String != "stopped" {
                    throw Complaint(
                        sentence: event["reason"] as? String ?? "it ended",
                        status: event["code"] as? String == "sourceGone" ? .noDisplay : .failed)
                }
            default: break
            }
        }
        guard let firstPicture, let start, lastAt > start.at else {
            throw Complaint(sentence: "no frame was received: \(viewer.errorText)\(host.errorText)", status: .failed)
        }
        let elapsed = seconds(lastAt - start.at)
        let frames = Double((last["frames"] as? Int ?? 0) - start.frames) / elapsed
        let bits = Double((last["receivedBytes"] as? Int ?? 0) - start.bytes) * 8 / elapsed
        show(
            last, firstFrame: firstPicture, framesPerSecond: frames, bitsPerSecond: bits,
            hostCPU: (host.cpuSeconds - start.cpu) / elapsed)
        if !showsWindow { print("last frame     \(snapshot)") }
    }

    /// Prints the measurements.
    /// - Parameters:
    ///   - last: the viewer's last statistics.
    ///   - hostCPU: CPU seconds in a second.
    private func show(
        _ last: [String: Any], firstFrame: Duration, framesPerSecond frames: Double, bitsPerSecond bits: Double,
        hostCPU: Double
    ) {
        print("frame size     \(last["width"] as? Int ?? 0) x \(last["height"] as? Int ?? 0), encrypted, over loopback")
        print("first frame    \(Int(seconds(firstFrame) * 1_000)) ms after join")
        print(
            "frames         "
                + (frames > 0
                    ? "\(String(format: "%.1f", frames)) a second" : "none: nothing moved, so nothing was sent"))
        if let median = last["latencyP50Ms"] as? Double, let high = last["latencyP95Ms"] as? Double {
            print("latency        \(median) ms (median), \(high) ms (95 %), capture to shown")
        }
        print("bitrate        \(StatusLine.rate(bits))")
        print("host CPU       \(Int(hostCPU * 1_000)) ms a second")
    }
}

/// The screen that the demo shares: a virtual display with its processes, or the test video.
private final class Stage: @unchecked Sendable {
    // SAFETY: `children` is in a Monitor; the rest is set once, in `open`.
    private(set) var hostArguments: [String] = []
    private(set) var words = ""
    private let children = Monitor<[Child]>([])

    /// Starts a virtual display (Xvfb). The display of the window is never shared, because the window would show
    /// itself.
    func open() throws {
        guard
            let server = try? Child(
                executable: "Xvfb", ["-displayfd", "1", "-screen", "0", "1920x1080x24", "-nolisten", "tcp"]),
            let number = server.readLine(), !number.isEmpty
        else {
            hostArguments = ["--source", "test"]
            words = "the test video (Xvfb is not installed)"
            return
        }
        hostArguments = ["--display", ":\(number)", "--audio", "none"]
        words = "a virtual display with a test video"
        adopt(server)
        adopt(try Child(["paint"], environment: ["DISPLAY": ":\(number)"]))
    }

    func adopt(_ child: Child) { children.with { $0.append(child) } }

    func close() {
        let all = children.with { children in
            defer { children = [] }
            return children
        }
        for child in all.reversed() { child.end() }
    }
}

/// A child process of the demo. Its stderr is kept for an error message.
private final class Child: @unchecked Sendable {
    // SAFETY: `Process` is used from the demo's thread, and from the signal thread only to end it.
    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    /// Starts this executable again with other arguments.
    convenience init(_ arguments: [String], environment: [String: String] = [:]) throws {
        try self.init(executable: "/proc/self/exe", arguments, environment: environment)
    }

    init(executable: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        if executable.hasPrefix("/") {
            process.executableURL = URL(fileURLWithPath: executable).resolvingSymlinksInPath()
            process.arguments = arguments
        } else {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [executable] + arguments
        }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    func readLine() -> String? {
        var line = [UInt8]()
        while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first {
            if byte == 10 { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    func readEvent() -> [String: Any]? {
        guard let line = readLine() else { return nil }
        return (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any] ?? [:]
    }

    /// The stderr of the process. Ends the process first.
    var errorText: String {
        end()
        return String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
    }

    var cpuSeconds: Double {
        guard let text = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    func end() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}
