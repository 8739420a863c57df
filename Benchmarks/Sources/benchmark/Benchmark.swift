import Foundation

/// Measures share, a lower bound, Chromium and GStreamer on virtual displays, and prints tables.
@main
struct Benchmark {
    static let usage = """
        usage: benchmark SHARE [--seconds N] [--scene still|stamp|typing|scrolling|video|stamp60|film] [--joins N] [--soak SECONDS]
                         [--only scenes|service|recordings|lipsync|viewers|packets|allocations|encryption|memory|leaks|owners|networks|pages|links|losses|endurance]
                         [--against SHARE] [--still SECONDS (60)] [--minutes N (10)] [--without-chromium] [--without-gstreamer]
               benchmark SHARE --only legibility [--against SHARE] [--kilobits N] [--with-video] [--save FOLDER]
               benchmark SHARE --only joins [--against SHARE] [--rounds N (3)]
               benchmark SHARE --only control [--keys N (200)] [--without-chromium]
               benchmark SHARE --plot RESULTS
               benchmark SHARE --only desktop [--against SHARE] [--rounds N (3)] [--link \(DesktopLink.allCases.map(\.rawValue).joined(separator: "|"))]
                         [--scene \(DesktopScene.allCases.map(\.rawValue).joined(separator: "|"))]

        """

    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        func option(_ name: String) -> String? {
            guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
            defer { arguments.removeSubrange(index...(index + 1)) }
            return arguments[index + 1]
        }
        let seconds = option("--seconds").flatMap { Int($0) } ?? 10
        let scene = option("--scene")
        let link = option("--link")
        let joins = option("--joins").flatMap { Int($0) } ?? 30
        let other = option("--against")
        let soak = option("--soak").flatMap { Int($0) }
        let still = option("--still").flatMap { Int($0) } ?? 60
        let rounds = option("--rounds").flatMap { Int($0) } ?? 3
        let minutes = option("--minutes").flatMap { Int($0) } ?? 10
        let keys = option("--keys").flatMap { Int($0) } ?? 200
        let kilobits = option("--kilobits").flatMap { Double($0) }
        let pictures = option("--save")
        let results = option("--plot")
        let only = option("--only") ?? (scene != nil ? "scenes" : soak != nil ? "memory" : nil)
        func flag(_ name: String) -> Bool {
            defer { arguments.removeAll { $0 == name } }
            return arguments.contains(name)
        }
        let withoutChromium = flag("--without-chromium")
        let withoutGStreamer = flag("--without-gstreamer")
        let hasVideo = flag("--with-video")
        let scenes = scene.map { Scene(rawValue: $0).map { [$0] } ?? [] } ?? Scene.allCases.filter { $0 != .film }
        let desktopScenes = scene.map { DesktopScene(rawValue: $0).map { [$0] } ?? [] } ?? DesktopScene.allCases
        let links = link.map { DesktopLink(rawValue: $0).map { [$0] } ?? [] } ?? DesktopLink.allCases
        let isKnown = only == "desktop" ? !desktopScenes.isEmpty && !links.isEmpty : !scenes.isEmpty
        guard let binary = arguments.first, arguments.count == 1, isKnown, seconds > 0, rounds > 0, keys > 0 else {
            complain(usage)
            exit(64)
        }
        do {
            if let results {
                Table.line(LegibilityPlot(tables: try String(contentsOfFile: results, encoding: .utf8)).text)
                return
            }
            if only == nil || only == "scenes" {
                var rivals: [(name: String, measure: (Scene, Int) throws -> Measurement)] = []
                if !withoutChromium, let chromium = Chromium.find() {
                    rivals.append(
                        ("share's page", { try measurePage(chromium, $0, binary: binary, seconds: $1) }))
                    rivals.append(("Chromium", { try measureChromium(chromium, $0, seconds: $1) }))
                }
                if !withoutGStreamer, try isGStreamerComplete() { rivals.append(("GStreamer", measureGStreamer)) }
                try measure(scenes, binary: binary, seconds: seconds, rivals: rivals)
            }
            if let only, ["networks", "pages", "links", "losses", "endurance"].contains(only) {
                let networks = Networks(
                    binary: binary, chromium: withoutChromium ? nil : Chromium.find(),
                    hasGStreamer: try !withoutGStreamer && isGStreamerComplete(), seconds: seconds)
                if only == "networks" || only == "pages" { try networks.measurePages(still: still) }
                if only == "networks" || only == "links" { try networks.measureScenes() }
                if only == "networks" || only == "losses" { try networks.measureLosses() }
                if only == "networks" || only == "endurance" { try networks.measureEndurance(minutes: minutes) }
            }
            if only == nil || only == "service" {
                Table.header(Measurement.header)
                for scene in scenes where scene.hasStamp {
                    Table.row(try measureService(scene, binary: binary, seconds: seconds).cells)
                }
            }
            if only == nil || only == "recordings" { try measureRecordings(binary: binary, seconds: seconds) }
            if only == "lipsync" { try measureLipSync(binary: binary, minutes: minutes) }
            if only == nil || only == "viewers" { try measureSecondViewer(binary: binary, seconds: seconds) }
            if only == "packets" { try measurePacketCosts(binary: binary, against: other, seconds: seconds) }
            if only == nil || only == "allocations" { try measureAllocations(binary: binary, seconds: seconds) }
            if only == "desktop" {
                let binaries = [binary] + (other.map { [$0] } ?? [])
                try Desktop(
                    binaries: binaries, chromium: withoutChromium ? nil : Chromium.find(), rounds: rounds,
                    seconds: seconds, scenes: desktopScenes, links: links
                ).measure()
            }
            if only == "legibility" {
                func networks(_ binary: String, alone: Bool) throws -> Networks {
                    Networks(
                        binary: binary, chromium: alone || withoutChromium ? nil : Chromium.find(),
                        hasGStreamer: try !alone && !withoutGStreamer && isGStreamerComplete(), seconds: seconds)
                }
                var contenders = try networks(binary, alone: false).contenders
                if let other {
                    contenders += try networks(other, alone: true).contenders.map { ("the other build", $0.run) }
                }
                try Legibility(
                    contenders: contenders, kilobits: kilobits.map { [$0] } ?? Legibility.links, hasVideo: hasVideo,
                    seconds: seconds, output: pictures
                ).measure()
            }
            if only == "joins" {
                try FirstPicture(binaries: [binary] + (other.map { [$0] } ?? []), rounds: rounds).measure()
            }
            if only == "control" {
                try measureControl(binary: binary, chromium: withoutChromium ? nil : Chromium.find(), keys: keys)
            }
            if only == "encryption" {
                try Encryption(binary: binary, rounds: rounds, seconds: seconds).measure()
            }
            if only == "owners" { try findOwners(binary: binary) }
            if only == "leaks" { try findLeaks(binary: binary) }
            if only == nil || only == "memory" { try measureJoins(binary: binary, joins: joins, soak: soak) }
        } catch {
            complain("benchmark: \(error)\n")
            exit(1)
        }
    }

    private static func measure(
        _ scenes: [Scene], binary: String, seconds: Int,
        rivals: [(name: String, measure: (Scene, Int) throws -> Measurement)]
    ) throws {
        Table.header(Measurement.header)
        for scene in scenes {
            let share = try measureShare(scene, binary: binary, seconds: seconds)
            Table.row(share.cells)
            guard scene.hasStamp else { continue }
            var floor = try measureFloor(scene, seconds: seconds)
            if let own = share.p50, let least = floor.p50 {
                floor.add(note: "share's p50 is \(cell(own / least, 1)) times this")
            }
            Table.row(floor.cells)
            for rival in rivals {
                do {
                    Table.row(try rival.measure(scene, seconds).cells)
                } catch {
                    // A failure of another program does not end the benchmark.
                    var row = Measurement(rival.name, scene)
                    row.add(note: "\(error)")
                    Table.row(row.cells)
                }
            }
        }
    }

    static func complain(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
