import Foundation
import NetworkBed

/// What a person has in front of them while the screen is shared: antialiased text that is typed or scrolls, light and dark, a window
/// that is dragged, a video. A stamp is drawn 30 times a second beside it.
enum DesktopScene: String, CaseIterable {
    /// Random characters, a line 20 times a second.
    case noise
    /// Source code, a line 20 times a second.
    case code
    /// The same, light on dark.
    case dark
    /// Seven lines of source code at once, twice a second.
    case page
    case typing
    /// A window of text is dragged.
    case drag
    /// A video of 1280 x 720.
    case video

    /// - Parameters:
    ///   - text: a file of source code.
    func start(on display: String, text: String, seconds: Int) throws -> [Subprocess] {
        let environment = ["DISPLAY": display]
        func bash(_ script: String) throws -> Subprocess {
            try Subprocess("bash", ["-c", script, "bash", text], environment: environment)
        }
        func terminal(_ script: String, _ options: [String] = [], geometry: String = "180x45+20+200") throws
            -> Subprocess
        {
            try Subprocess(
                "xterm",
                ["-fa", "Monospace", "-fs", "12", "-geometry", geometry] + options
                    + ["-e", "bash", "-c", script + "; sleep \(seconds)", "bash", text],
                environment: environment)
        }
        func lines(_ count: Int, each pause: String) -> String {
            #"n=0; while IFS= read -r l; do printf '%s\n' "$l"; n=$((n + 1)); "#
                + "[ $((n % \(count))) = 0 ] && sleep \(pause); done <\"$1\""
        }
        switch self {
        case .noise: return [try terminal("while :; do head -c 120 /dev/urandom | base64 -w 160; sleep 0.05; done")]
        case .code: return [try terminal(lines(1, each: "0.05"))]
        case .dark: return [try terminal(lines(1, each: "0.05"), ["-bg", "#1e1e2e", "-fg", "#cdd6f4"])]
        case .page: return [try terminal(lines(7, each: "0.5"))]
        case .typing:
            return [
                try terminal("while :; do printf %s $((RANDOM % 10)); sleep 0.1; done", geometry: "120x40+50+250")
            ]
        case .drag:
            let window = try terminal(#"head -28 "$1""#, ["-T", "dragged"], geometry: "100x30+100+250")
            let hand = try bash(
                """
                until w=$(xdotool search --name dragged | head -1) && [ -n "$w" ]; do sleep 0.1; done
                while xdotool windowmove "$w" $((50 + (i * 7) % 700)) $((250 + (i * 3) % 300)); do i=$((i + 1)); sleep 0.033; done
                """)
            return [hand, window]
        case .video:
            return [
                try Subprocess(
                    "ffplay",
                    [
                        "-loglevel", "quiet", "-noborder", "-left", "300", "-top", "250", "-f", "lavfi", "-i",
                        "testsrc2=s=1280x720:r=30",
                    ], environment: environment)
            ]
        }
    }
}

/// Measures scenes of a desktop over loopback and over a slow link with losses, in turns with another build.
struct Desktop {
    let binaries: [String]
    let rounds: Int
    let seconds: Int
    let scenes: [DesktopScene]

    private enum Link: String, CaseIterable {
        case loopback
        case slow = "3 Mbit/s, 50 ms, 2 % lost"
        /// For four seconds, from the first of the measurement on.
        case drop = "the same, 0.6 Mbit/s for 4 s"

        static let conditions = LinkConditions(
            kilobits: 3_000, queueMilliseconds: 300, delayMilliseconds: 25, lossPercent: 2)
    }

    private struct Run {
        var probe: Probe
        var cpu: Double

        var figures: [Double?] { [probe.p50, probe.p95, probe.stampsPerSecond, cpu] }
    }

    func measure() throws {
        Table.title("A desktop, \(rounds) rounds of \(seconds) s each: medians")
        Table.header([
            "scene", "link", "program", "p50 ms", "p95 ms", "stamps/s", "sender CPU ms/s", "to the first", "note",
        ])
        let folder = try TemporaryDirectory()
        let text = folder.path + "/text"
        try Self.sourceCode().write(toFile: text, atomically: true, encoding: .utf8)
        for link in Link.allCases {
            for scene in scenes where link != .drop || scene == .code || scene == .video {
                var runs = [[Run]](repeating: [], count: binaries.count)
                var notes = [String](repeating: "", count: binaries.count)
                for _ in 0..<rounds {
                    for (index, binary) in binaries.enumerated() {
                        let run = try measure(scene, link, text: text, binary)
                        if run.probe.stamps > 0 {
                            runs[index].append(run)
                        } else {
                            notes[index] += run.probe.error ?? "no stamp"
                        }
                    }
                }
                let medians = runs.map { Self.medians($0.map(\.figures)) }
                for (index, binary) in binaries.enumerated() {
                    let ratios = zip(medians[index], medians[0]).map { $0 / max($1, 0.1) }
                    Table.row(
                        [scene.rawValue, link.rawValue, binary]
                            + (0..<4).map { cell(medians[index].isEmpty ? nil : medians[index][$0], $0 == 3 ? 0 : 1) }
                            + [ratios.map { cell($0, 2) }.joined(separator: ", "), notes[index]])
                }
            }
        }
    }

    private static func medians(_ rows: [[Double?]]) -> [Double] {
        guard let first = rows.first else { return [] }
        return first.indices.map { column in
            median(rows.compactMap { $0[column] }) ?? 0
        }
    }

    private func measure(_ scene: DesktopScene, _ link: Link, text: String, _ binary: String) throws -> Run {
        let path = link == .loopback ? nil : try EmulatedPath(Link.conditions)
        return try withDisplays(start: { _ in [] }) { from, to in
            let host = try ShareHost(binary: binary, display: from, over: path)
            defer { host.stop() }
            let viewer = try host.join(display: to, arguments: ["--fullscreen", "--mute"])
            defer { viewer.stop() }
            // The initial probes are over by then.
            Thread.sleep(forTimeInterval: 4)
            var actors = [
                try Subprocess(tool("stamp"), ["-f", "30", "-s", "\(seconds + 30)"], environment: ["DISPLAY": from])
            ]
            actors += try scene.start(on: from, text: text, seconds: seconds + 30)
            defer { actors.forEach { $0.terminate() } }
            Thread.sleep(forTimeInterval: 4)
            if link == .drop, let path {
                var narrow = Link.conditions
                narrow.kilobits = 600
                try path.link.set(narrow)
                try path.link.set(Link.conditions, afterMilliseconds: 4_000)
            }
            let (cpu, begin) = (host.process.figures.cpuMilliseconds, monotonicSeconds())
            let probe = try Probe.run(to, seconds: seconds)
            return Run(probe: probe, cpu: (host.process.figures.cpuMilliseconds - cpu) / (monotonicSeconds() - begin))
        }
    }

    /// The larger files of the core.
    private static func sourceCode() throws -> String {
        let root = URL(fileURLWithPath: "Sources/Core")
        let files =
            FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        let texts = try files.filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }
            .map { try String(contentsOf: $0, encoding: .utf8) }.filter { $0.utf8.count > 6_000 }
        guard !texts.isEmpty else { throw BenchmarkFailure("Sources/Core has no text; run Scripts/benchmark") }
        return texts.prefix(12).joined()
    }
}
