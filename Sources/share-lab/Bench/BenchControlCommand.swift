import ArgumentParser
import CommandSupport
import LinuxRuntime
import MediaCore
import ShareKit

struct BenchControlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control",
        abstract: "Measure how long it takes from a viewer's key to the picture that it changes.",
        discussion: """
            Joins a broadcast, asks for the control of its screen, and presses a key again and again. A program on the \
            host's screen has to have the keyboard and to change the brightness of the middle of the picture with each \
            key, as a terminal with: while read -rsn1; do n=$((1-n)); [ $n = 1 ] && printf '\\e[?5h' || printf '\\e[?5l'; done. \
            Printed is the time from the key's message to the decoded frame.
            """)

    @Argument(help: "The link of the broadcast.")
    var link: String

    @Option(help: ArgumentHelp("Keys.", valueName: "count"))
    var count = 100

    @Option(help: ArgumentHelp("Milliseconds between a picture and the next key.", valueName: "ms"))
    var pause = 150

    @Flag(help: "Print one JSON object on stdout.")
    var json = false

    func validate() throws {
        guard (1...100_000).contains(count) else { throw ValidationError("--count is 1 to 100000.") }
        guard (1...60_000).contains(pause) else { throw ValidationError("--pause is 1 to 60000 ms.") }
    }

    func run() throws { try complaining { report(try measure().sorted()) } }

    /// The middle of the newest frame, and when it came.
    private struct Seen: Sendable {
        var brightness: Int?
        var time = MediaInstant(nanoseconds: 0)
    }

    /// In milliseconds.
    private func measure() throws -> [Double] {
        let seen = Monitor(Seen())
        let viewer = try PeerViewer(link: link, name: "bench") { frame in
            let middle = Int(frame.y[(frame.height / 2) * frame.strideY + frame.width / 2])
            seen.change { $0 = Seen(brightness: middle, time: MonotonicClock.now) }
        }
        Task { try? await viewer.run() }
        let isGranted = Monitor(false)
        Task {
            for await event in viewer.events {
                guard case .rights(let rights) = event else { continue }
                if rights.control == .mayAsk { try? await viewer.ask(for: .control) }
                isGranted.change { $0 = rights.control == .granted }
            }
        }
        defer { viewer.leave() }
        let limit = MonotonicClock.now + .seconds(60)
        guard isGranted.wait(until: limit, { $0 ? () : nil }) != nil,
            seen.wait(until: limit, { $0.brightness == nil ? nil : () }) != nil
        else { throw CommandError(sentence: "the host did not give the control within a minute", status: .unreachable) }
        while !viewer.control(.move(PicturePlace(x: 0.5, y: 0.5))) {
            MonotonicClock.sleep(until: MonotonicClock.now + .milliseconds(10))
        }
        return try (0..<count).map { _ in
            MonotonicClock.sleep(
                until: MonotonicClock.now + .milliseconds(Int(Double(pause) * Double.random(in: 1...1.2))))
            let before = seen.with { $0.brightness } ?? 0
            let start = MonotonicClock.now
            for isPressed in [true, false] { _ = viewer.control(.key(keysym: 0x61, isPressed: isPressed)) }
            let end = seen.wait(until: start + .seconds(5)) { seen in
                abs((seen.brightness ?? before) - before) > 60 ? seen.time : nil
            }
            guard let end else {
                throw CommandError(sentence: "a key has changed nothing in the middle of the picture", status: .failed)
            }
            return (end - start).inMilliseconds
        }
    }

    private func report(_ times: [Double]) {
        func percentile(_ share: Double) -> Double { times[min(Int(Double(times.count) * share), times.count - 1)] }
        let output = DataOutput(isJSON: json)
        let (median, high, longest) = (percentile(0.5), percentile(0.95), times[times.count - 1])
        guard json else {
            let text =
                "p50 \(median.text(decimals: 1)) ms, p95 \(high.text(decimals: 1)) ms, "
                + "longest \(longest.text(decimals: 1)) ms"
            output.line("key to picture: \(text) (\(times.count) keys)")
            return
        }
        output.event(
            "control-bench",
            [
                "keys": .integer(times.count), "p50Ms": .init(milliseconds: median), "p95Ms": .init(milliseconds: high),
                "longestMs": .init(milliseconds: longest),
            ])
    }
}
