import Foundation
import NetworkBed

/// What a person has in front of them while the screen is shared: antialiased text that is typed or scrolls, light and
/// dark, in three programs and sizes; a window that is dragged; a video. A stamp is drawn 30 times a second beside it.
enum DesktopScene: String, CaseIterable {
    /// Random characters, a line 20 times a second.
    case noise
    /// Source code in xterm, grey antialiasing, a line 20 times a second.
    case code
    /// The same, light on dark.
    case dark
    /// The same with syntax colours.
    case colours
    /// The same with subpixel antialiasing (RGB).
    case subpixel
    /// The same in a bitmap font.
    case bitmap
    /// The same at a scale of 1.25.
    case scale125
    /// The same at a scale of 2.
    case scale2
    /// Seven lines of source code at once, twice a second.
    case page
    /// A GTK editor whose wheel is turned ten times a second, three lines each; it has a menu and a scroll bar.
    case editor
    /// A page in Chromium with a header and a side that stay, scrolled by three lines ten times a second.
    case browser
    /// The same page at a scale of 1.25, scrolled by 3.5 px 30 times a second.
    case smooth
    /// The same page at a scale of 1, moved by 3.25 px 30 times a second as a layer, which the compositor places between
    /// pixels.
    case fraction
    case typing
    /// A window of text is dragged.
    case drag
    /// A video of 1280 x 720.
    case video

    /// - Parameters:
    ///   - text: that has been written to files.
    ///   - folder: for the scene's own files.
    func start(on display: String, text: SourceText, folder: String, seconds: Int) throws -> [Subprocess] {
        let environment = ["DISPLAY": display, "HOME": folder, "GTK_OVERLAY_SCROLLING": "0"]
        func bash(_ script: String) throws -> Subprocess {
            try Subprocess("bash", ["-c", script, "bash", text.plain], environment: environment)
        }
        func terminal(
            _ script: String, _ options: [String] = [], font: [String] = ["-fa", "Monospace", "-fs", "12"],
            file: String? = nil, geometry: String = "180x45+20+200"
        ) throws -> Subprocess {
            try Subprocess(
                "xterm",
                font + ["-geometry", geometry] + options
                    + ["-e", "bash", "-c", script + "; sleep \(seconds)", "bash", file ?? text.plain],
                environment: environment)
        }
        func lines(_ count: Int, each pause: String) -> String {
            #"n=0; while IFS= read -r l; do printf '%s\n' "$l"; n=$((n + 1)); "#
                + "[ $((n % \(count))) = 0 ] && sleep \(pause); done <\"$1\""
        }
        let each = lines(1, each: "0.05")
        switch self {
        case .noise: return [try terminal("while :; do head -c 120 /dev/urandom | base64 -w 160; sleep 0.05; done")]
        case .code: return [try terminal(each)]
        case .dark: return [try terminal(each, Self.darkColours)]
        case .colours: return [try terminal(each, Self.darkColours, file: text.coloured)]
        case .subpixel:
            let face = "Monospace:antialias=true:rgba=1:lcdfilter=1"
            return [try terminal(each, font: ["-fa", face, "-fs", "12"])]
        case .bitmap: return [try terminal(each, font: ["-fn", "10x20"])]
        case .scale125: return [try terminal(each, font: ["-fa", "Monospace", "-fs", "15"], geometry: "145x36+20+200")]
        case .scale2: return [try terminal(each, font: ["-fa", "Monospace", "-fs", "24"], geometry: "90x22+20+200")]
        case .page: return [try terminal(lines(7, each: "0.5"))]
        case .editor:
            let editor = try Subprocess("mousepad", ["--disable-server", text.plain], environment: environment)
            let hand = try bash(
                """
                until w=$(xdotool search --onlyvisible --class mousepad | tail -1) && [ -n "$w" ]; do sleep 0.1; done
                xdotool windowmove "$w" 20 200 windowsize "$w" 1500 850 mousemove 600 700
                sleep 1
                while :; do xdotool click 5; sleep 0.1; done
                """)
            return [hand, editor]
        case .browser:
            return [try Chromium.show(text.page(step: "57", pause: 100), scale: 1, folder: folder, display: display)]
        case .smooth:
            return [try Chromium.show(text.page(step: "3.5", pause: 33), scale: 1.25, folder: folder, display: display)]
        case .fraction:
            let page = text.page(step: "3.25", pause: 33, isLayer: true)
            return [try Chromium.show(page, scale: 1, folder: folder, display: display)]
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

    private static let darkColours = ["-bg", "#1e1e2e", "-fg", "#cdd6f4"]
}

/// Source code to look at: the larger files of the core.
struct SourceText {
    /// Files of it.
    let plain: String
    /// With the colours of a terminal (ECMA-48).
    let coloured: String
    private let text: String

    init(in folder: String) throws {
        let root = URL(fileURLWithPath: "Sources/Core")
        let files =
            FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        let texts = try files.filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }
            .map { try String(contentsOf: $0, encoding: .utf8) }.filter { $0.utf8.count > 6_000 }
        guard !texts.isEmpty else { throw BenchmarkFailure("Sources/Core has no text; run Scripts/benchmark") }
        text = texts.prefix(12).joined()
        (plain, coloured) = (folder + "/text.swift", folder + "/coloured")
        try text.write(toFile: plain, atomically: true, encoding: .utf8)
        let colours = ["comment": "32", "string": "33", "keyword": "35", "type": "36"]
        try Self.marked(text) { "\u{1B}[\(colours[$0] ?? "0")m\($1)\u{1B}[0m" }
            .write(toFile: coloured, atomically: true, encoding: .utf8)
    }

    /// A page of it that scrolls.
    /// - Parameters:
    ///   - step: in CSS pixels.
    ///   - pause: between two steps, in ms.
    ///   - isLayer: the text is moved by a transform instead of scrolling.
    func page(step: String, pause: Int, isLayer: Bool = false) -> String {
        let move =
            isLayer
            ? "y += \(step); text.style.transform = `translateY(${-y}px)`" : "scrollBy(0, \(step))"
        let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        let code = Self.marked(escaped) { "<i class=\($0)>\($1)</i>" }
        return """
            <!doctype html><meta charset=utf-8><title>page</title><style>
            body { margin: 0; font: 14px/19px sans-serif } i { font-style: normal }
            header { position: sticky; top: 0; height: 56px; background: #24292f; color: white; font: 24px/56px sans-serif; padding-left: 20px }
            nav { position: fixed; top: 70px; left: 12px; width: 190px; color: #57606a } pre { margin: 8px 8px 8px 220px; font: 14px/19px monospace }
            .comment { color: #6e7781 } .string { color: #0a3069 } .keyword { color: #cf222e } .type { color: #8250df }
            \(isLayer ? "pre { will-change: transform } header { z-index: 1 }" : "")
            </style><header>Sources / Core</header><nav>\((1...24).map { "file \($0)" }.joined(separator: "<br>"))</nav><pre>\(code)</pre>
            <script>let y = 0; const text = document.querySelector("pre")
            const go = () => { \(move); setTimeout(go, \(pause)) }; setTimeout(go, 1000)</script>
            """
    }

    /// Marks what an editor colours.
    private static func marked(_ text: String, _ mark: (String, String) -> String) -> String {
        let keywords =
            "let|var|func|struct|enum|case|switch|return|if|else|guard|for|in|while|private|public|static|mutating|init|self|nil"
        let pattern = #"(//[^\n]*)|("[^"\n]*")|\b(\#(keywords))\b|\b([A-Z][A-Za-z]+)\b"#
        guard let expression = try? NSRegularExpression(pattern: pattern) else { return text }
        let whole = text as NSString
        var (result, end) = ("", 0)
        for match in expression.matches(in: text, range: NSRange(location: 0, length: whole.length)) {
            let kind = ["comment", "string", "keyword", "type"][
                (1...4).first { match.range(at: $0).length > 0 }.map { $0 - 1 } ?? 0]
            result += whole.substring(with: NSRange(location: end, length: match.range.location - end))
            result += mark(kind, whole.substring(with: match.range))
            end = match.range.location + match.range.length
        }
        return result + whole.substring(from: end)
    }
}

/// What lies between the two displays.
enum DesktopLink: String, CaseIterable {
    case loopback, slow, narrow
    /// Slower for four seconds, from the first of the measurement on.
    case drop

    /// nil: loopback.
    var conditions: LinkConditions? {
        switch self {
        case .loopback: nil
        case .slow, .drop: Self.conditions(kilobits: 3_000)
        case .narrow: Self.conditions(kilobits: 1_000)
        }
    }

    static func conditions(kilobits: Double) -> LinkConditions {
        LinkConditions(kilobits: kilobits, queueMilliseconds: 300, delayMilliseconds: 25, lossPercent: 2)
    }

    var description: String {
        switch self {
        case .loopback: "loopback"
        case .slow: "3 Mbit/s, 50 ms, 2 % lost"
        case .narrow: "1 Mbit/s, 50 ms, 2 % lost"
        case .drop: "3 Mbit/s, 50 ms, 2 % lost, 0.6 Mbit/s for 4 s"
        }
    }
}

/// Measures scenes of a desktop over loopback and over a slow link with losses: share, in turns with another build, the
/// floor (on loopback), share's page in Chromium, and Chromium.
struct Desktop {
    let binaries: [String]
    /// Chromium's path; nil: without it.
    let chromium: String?
    let rounds: Int
    let seconds: Int
    let scenes: [DesktopScene]
    let links: [DesktopLink]

    private struct Run {
        var probe: Probe
        var cpu: Double
        var drop: Drop?

        var figures: [Double?] { [probe.p50, probe.p95, probe.stampsPerSecond, cpu] }
    }

    /// What a drop of the rate does.
    private struct Drop {
        /// The longest time without a new stamp, in ms.
        var gap: Double
        /// The longest wait in the queue from 2 s after the drop on, in ms.
        var queue: Double
        /// Stamps a second from 5 s after the rate's return on.
        var later: Double

        static func text(_ drops: [Drop]) -> String {
            guard let queue = drops.map(\.queue).max() else { return "" }
            let gaps = drops.map(\.gap).sorted().map { cell($0, 0) }.joined(separator: ", ")
            return "longest gap \(gaps) ms, queue after 2 s \(cell(queue, 0)) ms, "
                + "\(cell(drops.map(\.later).min(), 1)) stamps/s 5 s after the return"
        }
    }

    /// What runs on the sender's display, and is over `seconds` after the measurement at the earliest.
    private typealias Actors = (_ display: String) throws -> [Subprocess]
    private typealias Program = (name: String, run: (DesktopLink, @escaping Actors) throws -> Run)

    private var programs: [Program] {
        var all: [Program] = binaries.map { binary in (binary, { try share(binary, $0, $1) }) }
        all.append(("floor", { _, start in try floor(start) }))
        if let chromium {
            all.append(("share's page", { try page(chromium, $0, $1) }))
            all.append(("Chromium", { try other(chromium, $0, $1) }))
        }
        return all
    }

    func measure() throws {
        Table.title("A desktop, \(rounds) rounds of \(seconds) s each: medians")
        Table.header([
            "scene", "link", "program", "p50 ms", "p95 ms", "stamps/s", "sender CPU ms/s", "share in parts of it",
            "note",
        ])
        let folder = try TemporaryDirectory()
        let text = try SourceText(in: folder.path)
        for link in links {
            let programs = programs.filter { link == .loopback || $0.name != "floor" }
            for scene in scenes where link != .drop || scene == .code || scene == .video {
                var runs = [[Run]](repeating: [], count: programs.count)
                var notes = [String](repeating: "", count: programs.count)
                for _ in 0..<rounds {
                    for (index, program) in programs.enumerated() {
                        do {
                            let own = try TemporaryDirectory()
                            let run = try program.run(link) { display in
                                [
                                    try Subprocess(
                                        tool("stamp"), ["-f", "30", "-s", "\(seconds + 60)"],
                                        environment: ["DISPLAY": display])
                                ]
                                    + (try scene.start(on: display, text: text, folder: own.path, seconds: seconds + 60))
                            }
                            if run.probe.stamps > 0 {
                                runs[index].append(run)
                            } else {
                                notes[index] = run.probe.error ?? "no stamp"
                            }
                        } catch  where index >= binaries.count {
                            // A failure of another program does not end the benchmark.
                            notes[index] = "\(error)"
                        }
                    }
                }
                let medians = runs.map { Self.medians($0.map(\.figures)) }
                for (index, program) in programs.enumerated() {
                    let ratios = zip(medians[0], medians[index]).map { $0 / max($1, 0.1) }
                    Table.row(
                        [scene.rawValue, link.description, program.name]
                            + (0..<4).map { cell(medians[index].isEmpty ? nil : medians[index][$0], $0 == 3 ? 0 : 1) }
                            + [
                                ratios.map { cell($0, 2) }.joined(separator: ", "),
                                notes[index] + Drop.text(runs[index].compactMap(\.drop)),
                            ])
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

    private func share(_ binary: String, _ link: DesktopLink, _ start: @escaping Actors) throws -> Run {
        let path = try link.conditions.map { try EmulatedPath($0) }
        return try withDisplays(start: { _ in [] }) { from, to in
            let host = try ShareHost(binary: binary, display: from, over: path)
            defer { host.stop() }
            let viewer = try host.join(display: to, arguments: ["--fullscreen", "--mute"])
            defer { viewer.stop() }
            // The initial probes are over by then.
            Thread.sleep(forTimeInterval: 4)
            let actors = try start(from)
            defer { actors.forEach { $0.terminate() } }
            Thread.sleep(forTimeInterval: 4)
            return try run(link, path, to) { host.process.figures.cpuMilliseconds }
        }
    }

    private func page(_ program: String, _ link: DesktopLink, _ start: @escaping Actors) throws -> Run {
        let path = try link.conditions.map { try EmulatedPath($0) }
        return try withPage(program, binary: binaries[0], over: path, start: { _ in [] }) { session in
            let actors = try start(session.from)
            defer { actors.forEach { $0.terminate() } }
            Thread.sleep(forTimeInterval: 4)
            return try run(link, path, session.to) { session.host.process.figures.cpuMilliseconds }
        }
    }

    private func floor(_ start: @escaping Actors) throws -> Run {
        try withFloor(seconds: seconds, start: start) { floor, to in
            try run(.loopback, nil, to) { floor.figures.cpuMilliseconds }
        }
    }

    private func other(_ program: String, _ link: DesktopLink, _ start: @escaping Actors) throws -> Run {
        let path = try link.conditions.map { try EmulatedPath($0) }
        var result: Run?
        try withChromium(program, over: path, start: start) { session in
            result = try run(link, path, session.to) { session.cpuMilliseconds }
        }
        guard let result else { throw BenchmarkFailure("nothing was measured") }
        return result
    }

    private func run(_ link: DesktopLink, _ path: EmulatedPath?, _ display: String, cpu: () -> Double) throws -> Run {
        let (spent, begin) = (cpu(), monotonicSeconds())
        func run(_ probe: Probe) -> Run { Run(probe: probe, cpu: (cpu() - spent) / (monotonicSeconds() - begin)) }
        guard link == .drop, let path, let conditions = link.conditions else {
            return run(try Probe.run(display, seconds: seconds))
        }
        try path.link.set(DesktopLink.conditions(kilobits: 600))
        try path.link.set(conditions, afterMilliseconds: 4_000)
        var queue = 0.0
        var result = run(
            try Probe.run(display, seconds: max(seconds, 5)) {
                Thread.sleep(forTimeInterval: 2)
                _ = try path.link.figures(.forward)
                Thread.sleep(forTimeInterval: 2)
                queue = try path.link.figures(.forward).longestQueueMilliseconds
            })
        Thread.sleep(forTimeInterval: max(0, begin + 9 - monotonicSeconds()))
        let later = try Probe.run(display, seconds: 3)
        result.drop = Drop(gap: result.probe.longestGap ?? 0, queue: queue, later: later.stampsPerSecond ?? 0)
        return result
    }
}
