import Foundation
import NetworkBed

/// Whether all required parts of GStreamer are installed; missing ones are printed on stderr.
func isGStreamerComplete() throws -> Bool {
    let program = try Subprocess(tool("gstreamer"), [])
    let isComplete = program.exitStatus == 0
    if !isComplete { Benchmark.complain("benchmark: without GStreamer: \(program.errorText)") }
    return isComplete
}

/// Runs `body` while GStreamer's ximagesrc, vp8enc and webrtcbin on one display send to a process that shows the video
/// on another.
/// - Parameters:
///   - start: starts the programs on the sender's display.
///   - body: gets the two displays and the sender, whose `statistics` arrive each second.
func withGStreamer(
    over path: EmulatedPath? = nil, start: (String) throws -> [Subprocess],
    _ body: (_ from: String, _ to: String, _ sender: Subprocess) throws -> Void
) throws {
    try withDisplays(start: start) { from, to in
        // The receiving process is the sender's child; its CPU time is not counted.
        let sender = try Subprocess(
            tool("gstreamer"), [from, to] + (path.map { [$0.viewer.path] } ?? []), in: path?.host)
        defer { sender.terminate() }
        _ = try sender.wait(for: "playing")
        Thread.sleep(forTimeInterval: 5)
        try body(from, to, sender)
    }
}

func measureGStreamer(_ scene: Scene, seconds: Int) throws -> Measurement {
    var row = Measurement("GStreamer", scene)
    try withGStreamer(start: { try scene.start(on: $0, seconds: seconds + 60) }) { _, to, sender in
        let first = try sender.wait(for: "statistics", after: sender.events.count)
        let spent = sender.figures.cpuMilliseconds
        let begin = monotonicSeconds()
        row = Measurement("GStreamer", scene, try Probe.run(to, seconds: seconds))
        row.hostCPU = (sender.figures.cpuMilliseconds - spent) / (monotonicSeconds() - begin)
        let last = try sender.wait(for: "statistics", after: sender.events.count)
        row.kilobits = (last["bytes"] - first["bytes"]) * 8 / (last.time - first.time) / 1_000
        row.add(note: "\(cell((last["frames"] - first["frames"]) / (last.time - first.time), 1)) frames/s")
        let memory = sender.figures.memory
        row.residentMegabytes = memory.resident
        row.proportionalMegabytes = memory.proportional
    }
    return row
}
