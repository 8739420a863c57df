import Foundation

/// What recording costs: a viewer that records beside one that does not, latency with recorders at both ends, a clip of
/// 15 s, and twenty recorders on one core.
func measureRecordings(binary: String, seconds: Int) throws {
    let arguments = ["--audio", "none", "--bitrate", "2500", "--mode", "motion"]
    try withDisplays(start: { try Scene.video.start(on: $0, seconds: seconds * 6 + 90) }) { display, _ in
        let folder = try TemporaryDirectory()
        let host = try ShareHost(
            binary: binary, display: display, arguments: arguments + ["--clips", "15"],
            environment: ["TMPDIR": folder.path, "XDG_RUNTIME_DIR": folder.path])
        defer { host.stop() }
        try measureViewers(host, folder, seconds: seconds)
        try measureClips(binary, folder)
        try measureTwenty(binary, host, folder, seconds: seconds)
    }
    try measureLatency(binary, seconds: seconds)
}

/// Glass to glass, while host and viewer record, and while they do not, in turns.
private func measureLatency(_ binary: String, seconds: Int) throws {
    Table.header(["host and viewer", "p50 ms", "p95 ms"])
    let folder = try TemporaryDirectory()
    try withDisplays(start: { try Scene.stamp.start(on: $0, seconds: seconds * 6 + 90) }) { from, to in
        for round in 1...3 {
            for records in [false, true] {
                func record(_ name: String) -> [String] {
                    records ? ["--record", folder.path + "/\(name)-\(round).webm"] : []
                }
                let host = try ShareHost(
                    binary: binary, display: from, arguments: ["--audio", "none"] + record("host"))
                defer { host.stop() }
                let viewer = try host.join(display: to, arguments: ["--mute"] + record("viewer"))
                defer { viewer.stop() }
                Thread.sleep(forTimeInterval: 3)
                let probe = try Probe.run(to, seconds: seconds)
                Table.row([records ? "record" : "do not", cell(probe.p50, 2), cell(probe.p95, 2)])
            }
        }
    }
}

/// In turns, as the load of the machine changes.
private func measureViewers(_ host: ShareHost, _ folder: TemporaryDirectory, seconds: Int) throws {
    Table.header(["a headless viewer", "CPU, % of a core", "anonymous memory, MB"])
    for round in 1...3 {
        for records in [false, true] {
            let file = folder.path + "/viewer-\(round).webm"
            let viewer = try host.join(display: nil, arguments: ["--mute"] + (records ? ["--record", file] : []))
            Thread.sleep(forTimeInterval: 3)
            let (begin, cpu) = (monotonicSeconds(), viewer.process.figures.cpuMilliseconds)
            Thread.sleep(forTimeInterval: Double(seconds))
            let share = (viewer.process.figures.cpuMilliseconds - cpu) / (monotonicSeconds() - begin) / 10
            Table.row([
                records ? "records" : "watches", cell(share, 2), cell(viewer.process.figures.memory.anonymous, 1),
            ])
            viewer.stop()
        }
    }
}

private func measureClips(_ binary: String, _ folder: TemporaryDirectory) throws {
    Table.header(["share clip, 15 s", "ms", "MB"])
    for round in 1...3 {
        let file = folder.path + "/clip-\(round).webm"
        let begin = monotonicSeconds()
        let clip = try Subprocess(
            binary, ["clip", "-o", file, "--json"],
            environment: ["TMPDIR": folder.path, "XDG_RUNTIME_DIR": folder.path])
        guard clip.exitStatus == 0 else { throw BenchmarkFailure(clip.errorText) }
        let elapsed = (monotonicSeconds() - begin) * 1e3
        let bytes = (try FileManager.default.attributesOfItem(atPath: file))[.size] as? Int ?? 0
        Table.row(["with the program's start", cell(elapsed, 0), cell(Double(bytes) / 1e6, 1)])
    }
}

/// On the last core; the host may use all others.
private func measureTwenty(
    _ binary: String, _ host: ShareHost, _ folder: TemporaryDirectory, seconds: Int
) throws {
    let core = ProcessInfo.processInfo.processorCount - 1
    var recorders: [Subprocess] = []
    defer { for recorder in recorders { recorder.interrupt() } }
    for index in 0..<20 {
        let own = folder.path + "/recorder-\(index)"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        recorders.append(
            try Subprocess(
                "/usr/bin/taskset", ["-c", "\(core)", binary, "record", "--json", "-o", own + "/a.webm"],
                environment: ["SHARE_LINK": host.link, "XDG_DATA_HOME": own]))
    }
    for recorder in recorders { _ = try recorder.wait(for: "statistics") }
    let cpu = recorders.reduce(0) { $0 + $1.figures.cpuMilliseconds }
    let begin = monotonicSeconds()
    Thread.sleep(forTimeInterval: Double(seconds))
    let elapsed = monotonicSeconds() - begin
    let share = (recorders.reduce(0) { $0 + $1.figures.cpuMilliseconds } - cpu) / elapsed / 10
    var (frames, bytes, dropped) = (0.0, 0.0, 0.0)
    for recorder in recorders {
        guard let last = recorder.events.last("statistics") else { throw BenchmarkFailure("a recorder is silent") }
        frames += last["frames"]
        bytes += last["bytes"]
        dropped += last["dropped"]
    }
    Table.header(["20 recorders on one core", "CPU of that core, %", "frames", "MB", "dropped"])
    Table.row(["", cell(share, 1), cell(frames, 0), cell(bytes / 1e6, 1), cell(dropped, 0)])
}
