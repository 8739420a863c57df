import Foundation
import NetworkBed
import TestSupport

/// Sound against picture in a recording over a link that loses packets, while the host pauses now and then.
func measureLipSync(binary: String, minutes: Int) throws {
    let folder = try TemporaryDirectory()
    let path = try EmulatedPath(
        LinkConditions(
            kilobits: 10_000, queueMilliseconds: 500, delayMilliseconds: 25, jitterMilliseconds: 10, lossPercent: 3))
    let own = ["TMPDIR": folder.path, "XDG_RUNTIME_DIR": folder.path, "XDG_DATA_HOME": folder.path]
    let host = try ShareHost(
        binary: binary, display: nil, arguments: ["--source", "test"], environment: own, over: path)
    defer { host.stop() }
    let file = folder.path + "/recording.webm"
    let recorder = try Subprocess(
        binary, ["record", "--json", "-o", file], environment: own.merging(["SHARE_LINK": host.link]) { $1 },
        in: path.viewer)
    _ = try recorder.wait(for: "recording")
    let begin = monotonicSeconds()
    let end = begin + Double(minutes) * 60
    var pauses: [(from: Double, to: Double)] = []
    while monotonicSeconds() + 150 < end {
        Thread.sleep(forTimeInterval: 120)
        let from = monotonicSeconds() - begin
        try run(binary, ["pause"], own)
        Thread.sleep(forTimeInterval: 15)
        try run(binary, ["resume"], own)
        pauses.append((from, monotonicSeconds() - begin))
    }
    Thread.sleep(forTimeInterval: max(end - monotonicSeconds(), 0))
    recorder.interrupt()
    guard recorder.events.last("recorded") != nil else { throw BenchmarkFailure(recorder.errorText) }
    let losses = try path.link.figures(.forward)
    Table.title(
        "Sound against picture, \(minutes) minutes, 3 % lost, \(pauses.count) pauses of 15 s, \(losses.lost) packets lost"
    )
    Table.header(["at s", "beeps", "median ms", "worst ms"])
    var worst = 0.0
    // Before and after each pause, and at the end.
    var places = [5.0]
    for pause in pauses { places += [pause.from - 25, pause.to + 3] }
    places.append(Double(minutes) * 60 - 30)
    for place in places where place > 0 {
        let offsets = try RecordedOffsets(of: file, from: place, seconds: 20, width: 1_280, framesPerSecond: 30)
        Table.row([
            cell(place), cell(Double(offsets.milliseconds.count)), cell(offsets.median, 1), cell(offsets.worst, 1),
        ])
        if abs(offsets.worst) > abs(worst) { worst = offsets.worst }
    }
    Table.row(["worst", "", "", cell(worst, 1)])
}

private func run(_ binary: String, _ arguments: [String], _ environment: [String: String]) throws {
    let program = try Subprocess(binary, arguments, environment: environment)
    guard program.exitStatus == 0 else { throw BenchmarkFailure("\(arguments): \(program.errorText)") }
}
