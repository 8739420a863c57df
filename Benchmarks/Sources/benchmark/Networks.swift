import Foundation
import NetworkBed

/// Compares share with other programs over emulated links.
struct Networks {
    let binary: String
    let chromium: String?
    let hasGStreamer: Bool
    let seconds: Int

    /// Gets the displays while a contender's session runs.
    typealias Body = (_ from: String, _ to: String) throws -> Void
    /// `run` returns a remark for the table.
    typealias Contender = (
        name: String,
        run: (EmulatedPath, (String) throws -> [Subprocess], Body) throws -> String
    )

    var contenders: [Contender] {
        var all: [Contender] = [("share", withShare)]
        if let chromium {
            all.append(
                (
                    "share's page",
                    { [binary] path, start, body in
                        try withPage(chromium, binary: binary, over: path, start: start) { session in
                            try body(session.from, session.to)
                        }
                        return ""
                    }
                ))
            all.append(
                (
                    "Chromium",
                    { path, start, body in
                        var note = ""
                        try withChromium(chromium, over: path, start: start) { session in
                            try body(session.from, session.to)
                            if session.sent.count == 4 { note = "sends \(Int(session.sent[3])) px width" }
                        }
                        return note
                    }
                ))
        }
        if hasGStreamer {
            all.append(
                (
                    "GStreamer",
                    { path, start, body in
                        try withGStreamer(over: path, start: start) { from, to, _ in try body(from, to) }
                        return ""
                    }
                ))
        }
        return all
    }

    private func withShare(
        _ path: EmulatedPath, start: (String) throws -> [Subprocess], _ body: Body
    ) throws -> String {
        try withDisplays(start: start) { from, to in
            let host = try ShareHost(binary: binary, display: from, over: path)
            defer { host.stop() }
            // The audio is not muted: the window would show that at its top right, and its pixels would count as
            // errors.
            let viewer = try host.join(display: to, arguments: ["--fullscreen"])
            defer { viewer.stop() }
            Thread.sleep(forTimeInterval: 5)
            try body(from, to)
            return ""
        }
    }

    // MARK: Pages

    /// Measures the change from a still page to a new one.
    func measurePages(still: Int) throws {
        Table.title("A new page after \(still) s of rest, round trip 50 ms")
        Table.header([
            "link", "program", "readable (30 dB) ms", "sharp (38 dB) ms", "at the end dB", "longest queue ms", "note",
        ])
        for rate in [1_000.0, 3_000, 10_000] {
            for contender in contenders {
                var row = ["\(cell(rate / 1_000)) Mbit/s", contender.name]
                do {
                    let path = try EmulatedPath(
                        LinkConditions(kilobits: rate, queueMilliseconds: 1_000, delayMilliseconds: 25))
                    let note = try contender.run(path, { _ in [] }) { from, to in
                        let page = try NewPage.watch(from: from, to: to, still: still, limit: 15) {
                            _ = try path.link.figures(.forward)
                        }
                        let queue = try path.link.figures(.forward).longestQueueMilliseconds
                        row += [cell(page.readable), cell(page.sharp), cell(page.psnr, 1), cell(queue)]
                    }
                    row.append(note)
                } catch {
                    row += ["-", "-", "-", "-", "\(error)"]
                }
                Table.row(row)
            }
        }
    }

    // MARK: Scenes

    private static let links: [(name: String, conditions: LinkConditions)] = [
        ("1 Mbit/s, 50 ms", LinkConditions(kilobits: 1_000, queueMilliseconds: 500, delayMilliseconds: 25)),
        ("3 Mbit/s, 50 ms", LinkConditions(kilobits: 3_000, queueMilliseconds: 500, delayMilliseconds: 25)),
        ("10 Mbit/s, 50 ms", LinkConditions(kilobits: 10_000, queueMilliseconds: 500, delayMilliseconds: 25)),
        (
            "10 Mbit/s, 50 ms, 5 % lost",
            LinkConditions(kilobits: 10_000, queueMilliseconds: 500, delayMilliseconds: 25, lossPercent: 5)
        ),
        (
            "10 Mbit/s, 50 ms, 5 % lost by fours",
            LinkConditions(
                kilobits: 10_000, queueMilliseconds: 500, delayMilliseconds: 25, lossPercent: 5, burstPackets: 4)
        ),
        (
            "10 Mbit/s, 50 ms, 20 ms jitter",
            LinkConditions(kilobits: 10_000, queueMilliseconds: 500, delayMilliseconds: 25, jitterMilliseconds: 20)
        ),
    ]

    /// Measures the stamp's age while a terminal scrolls or a video plays.
    func measureScenes() throws {
        Table.title("Scenes, \(seconds) s each")
        Table.header([
            "link", "scene", "program", "p50 ms", "p95 ms", "stamps/s", "longest freeze ms", "queue ms", "kbit/s",
            "lost",
            "note",
        ])
        for (name, conditions) in Self.links {
            for scene in [Scene.stamp, .scrolling, .video] {
                for contender in contenders {
                    var row = [name, scene.rawValue, contender.name]
                    do {
                        let path = try EmulatedPath(conditions)
                        var error: String?
                        let start = { try scene.start(on: $0, seconds: seconds + 60) }
                        let note = try contender.run(path, start) { _, to in
                            let first = try path.link.figures(.forward)
                            let probe = try Probe.run(to, seconds: seconds)
                            let last = try path.link.figures(.forward)
                            row += [
                                cell(probe.p50), cell(probe.p95), cell(probe.stampsPerSecond, 1),
                                cell(probe.longestGap), cell(last.longestQueueMilliseconds),
                                cell(Double(last.bytesOut - first.bytesOut) * 8 / 1_000 / Double(seconds)),
                                "\(last.lost - first.lost + last.overflowed - first.overflowed)",
                            ]
                            error = probe.error
                        }
                        row.append([note, error ?? ""].filter { !$0.isEmpty }.joined(separator: "; "))
                    } catch {
                        row += ["-", "-", "-", "-", "-", "-", "-", "\(error)"]
                    }
                    Table.row(row)
                }
            }
        }
    }

    // MARK: Losses

    /// Measures share's stamps at every loss and round trip time.
    func measureLosses() throws {
        Table.title("Losses, both ways, 10 Mbit/s, the stamp 30 times a second, \(seconds) s each")
        Table.header([
            "round trip ms", "lost", "in runs of", "p50 ms", "p95 ms", "stamps/s", "longest freeze ms", "kbit/s",
            "note",
        ])
        for delay in [10.0, 25, 50, 100] {
            for (loss, burst) in [(0.0, 1.0), (1, 1), (1, 4), (5, 1), (5, 4), (10, 1), (10, 4), (20, 1)] {
                var row = [cell(delay * 2), "\(cell(loss)) %", cell(burst)]
                do {
                    let path = try EmulatedPath(
                        LinkConditions(
                            kilobits: 10_000, queueMilliseconds: 500, delayMilliseconds: delay, lossPercent: loss,
                            burstPackets: burst))
                    _ = try withShare(path, start: { try Scene.stamp.start(on: $0, seconds: seconds + 60) }) { _, to in
                        let first = try path.link.figures(.forward)
                        let probe = try Probe.run(to, seconds: seconds)
                        let last = try path.link.figures(.forward)
                        row += [
                            cell(probe.p50), cell(probe.p95), cell(probe.stampsPerSecond, 1), cell(probe.longestGap),
                            cell(Double(last.bytesOut - first.bytesOut) * 8 / 1_000 / Double(seconds)),
                            probe.error ?? "",
                        ]
                    }
                } catch {
                    row += ["-", "-", "-", "-", "-", "\(error)"]
                }
                Table.row(row)
            }
        }
    }

    // MARK: Long

    private struct Endurance {
        let loss: Double
        let burst: Double
        let path: EmulatedPath
        let host: ShareHost
        let viewer: ShareViewer
        var last = Event("")
        var longestFreeze = 0.0
        var note = ""

        init(binary: String, loss: Double, burst: Double) throws {
            self.loss = loss
            self.burst = burst
            path = try EmulatedPath(
                LinkConditions(
                    kilobits: 10_000, queueMilliseconds: 500, delayMilliseconds: 25, lossPercent: loss,
                    burstPackets: burst))
            host = try ShareHost(binary: binary, display: nil, arguments: ["--source", "test"], over: path)
            viewer = try host.join(display: nil, arguments: [])
        }

        /// Waits for the viewer's next report.
        mutating func follow(since begin: Double) {
            guard note.isEmpty else { return }
            do {
                last = try viewer.process.wait(for: "statistics", after: viewer.process.events.count, seconds: 10)
                longestFreeze = max(longestFreeze, last["longestGapMs"])
            } catch {
                note = "after \(cell(monotonicSeconds() - begin)) s: \(error)"
            }
        }
    }

    /// Measures the test video and tone for minutes, with headless viewers; all losses at the same time.
    func measureEndurance(minutes: Int) throws {
        Table.title("\(minutes) minutes of loss, both ways, 10 Mbit/s, round trip 50 ms")
        Table.header([
            "lost", "in runs of", "frames", "key frames", "longest freeze ms", "sound played", "video packets lost",
            "ended early",
            "note",
        ])
        var runs = try [(5.0, 1.0), (10, 1), (5, 4), (10, 4)].map {
            try Endurance(binary: binary, loss: $0.0, burst: $0.1)
        }
        let begin = monotonicSeconds()
        while monotonicSeconds() - begin < Double(minutes) * 60, runs.contains(where: { $0.note.isEmpty }) {
            for index in runs.indices { runs[index].follow(since: begin) }
        }
        for run in runs {
            Table.row([
                "\(cell(run.loss)) %", cell(run.burst), cell(run.last["frames"]),
                cell(run.host.process.events.last("statistics")?["keyframes"]),
                run.longestFreeze > 0 ? cell(run.longestFreeze) : "-",
                "\(cell(run.last["audioFrames"] / 48_000, 1)) s of \(cell(monotonicSeconds() - begin, 1))",
                cell(run.last["lost"]), run.viewer.process.isRunning ? "no" : "yes", run.note,
            ])
            run.viewer.stop()
            run.host.stop()
        }
    }
}
