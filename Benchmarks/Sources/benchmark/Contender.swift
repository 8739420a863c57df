import Foundation

/// One row of the table.
struct Measurement {
    var contender: String
    var scene: Scene
    var p50: Double?
    var p95: Double?
    var stampsPerSecond: Double?
    /// CPU of the sending side, in ms a second.
    var hostCPU: Double?
    var hostMegabytes: Double?
    var kilobits: Double?
    /// From the start of the viewer to its first picture, in ms.
    var firstPicture: Double?
    var note = ""
}

struct Probe: Decodable {
    var stamps: Int
    var per_s: Double?
    var p50_ms: Double?
    var p95_ms: Double?
    var error: String?

    /// Watches the display for that long.
    static func run(_ display: String, seconds: Int) throws -> Probe {
        let process = try Subprocess(tool("probe"), ["-d", display, "-s", "\(seconds)"])
        let text = process.finish()
        guard let probe = try? JSONDecoder().decode(Probe.self, from: Data(text.utf8)) else {
            throw BenchmarkFailure("probe said: \(text) \(process.errorText)")
        }
        return probe
    }
}

/// `share host` on one display and `share join` in a window on another.
func measureShare(_ scene: Scene, binary: String, seconds: Int) throws -> Measurement {
    let from = try VirtualDisplay()
    let to = try VirtualDisplay()
    defer {
        from.close()
        to.close()
    }
    let life = seconds + 12
    let actors = try scene.start(on: from.name, seconds: life)
    defer { actors.forEach { $0.terminate() } }
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("share-bench-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let environment = ["XDG_DATA_HOME": directory.path]
    let host = try Subprocess(
        binary,
        ["host", "--display", from.name, "--accept", "any", "--audio", "none", "--listen", "127.0.0.1:0"],
        environment: environment)
    defer { host.interrupt() }
    guard let link = host.readLine(), link.hasPrefix("https://") else {
        throw BenchmarkFailure("share host gave no link: \(host.errorText)")
    }
    let begin = DispatchTime.now()
    let viewer = try Subprocess(
        binary, ["join", "--mute", "--json", link], environment: environment.merging(["DISPLAY": to.name]) { $1 })
    defer { viewer.interrupt() }
    var firstPicture: Double?
    while let line = viewer.readLine() {
        if line.contains("\"first-picture\"") {
            firstPicture = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e6
            break
        }
        if line.contains("\"ended\"") { throw BenchmarkFailure("share join ended: \(line) \(viewer.errorText)") }
    }
    var row = Measurement(contender: "share", scene: scene, firstPicture: firstPicture)
    // Until the picture has been refined, the figures are those of the start.
    Thread.sleep(forTimeInterval: 3)
    let cpu = host.cpuMilliseconds
    let sent = bytesSent()
    let start = DispatchTime.now()
    if scene.hasStamp {
        let probe = try Probe.run(to.name, seconds: seconds)
        row.p50 = probe.p50_ms
        row.p95 = probe.p95_ms
        row.stampsPerSecond = probe.per_s
        row.note = probe.error ?? ""
    } else {
        Thread.sleep(forTimeInterval: Double(seconds))
    }
    let elapsed = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
    row.hostCPU = (host.cpuMilliseconds - cpu) / elapsed
    row.kilobits = Double(bytesSent() - sent) * 8 / 1_000 / elapsed
    row.hostMegabytes = host.residentMegabytes
    return row
}

/// The least that can be had: the same work in one thread, without network, crypto or a second process.
func measureFloor(_ scene: Scene, seconds: Int) throws -> Measurement {
    let from = try VirtualDisplay()
    let to = try VirtualDisplay()
    defer {
        from.close()
        to.close()
    }
    let actors = try scene.start(on: from.name, seconds: seconds + 8)
    defer { actors.forEach { $0.terminate() } }
    let floor = try Subprocess(tool("floor"), [from.name, to.name, "\(seconds + 6)"])
    defer { floor.terminate() }
    Thread.sleep(forTimeInterval: 2)
    let cpu = floor.cpuMilliseconds
    let start = DispatchTime.now()
    let probe = try Probe.run(to.name, seconds: seconds)
    let elapsed = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
    return Measurement(
        contender: "floor", scene: scene, p50: probe.p50_ms, p95: probe.p95_ms, stampsPerSecond: probe.per_s,
        hostCPU: (floor.cpuMilliseconds - cpu) / elapsed, note: probe.error ?? "encodes and decodes")
}

/// What went over loopback so far, in bytes.
func bytesSent() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/net/dev", encoding: .utf8),
        let line = text.split(separator: "\n").first(where: { $0.contains("lo:") })
    else { return 0 }
    let fields = line.split(separator: ":")[1].split(separator: " ")
    return fields.first.flatMap { Int($0) } ?? 0
}
