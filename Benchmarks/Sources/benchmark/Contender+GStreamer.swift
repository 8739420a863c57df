import Foundation

/// Whether all of GStreamer that is needed is installed; what is missing is told on stderr.
func isGStreamerComplete() throws -> Bool {
    let program = try Subprocess(tool("gstreamer"), [])
    let isComplete = program.exitStatus == 0
    if !isComplete { Benchmark.complain("benchmark: without GStreamer: \(program.errorText)") }
    return isComplete
}

/// GStreamer's ximagesrc, vp8enc and webrtcbin on one display, and a process that shows what comes on another.
func measureGStreamer(_ scene: Scene, seconds: Int) throws -> Measurement {
    let from = try VirtualDisplay()
    let to = try VirtualDisplay()
    defer {
        from.close()
        to.close()
    }
    let actors = try scene.start(on: from.name, seconds: seconds + 60)
    defer { actors.forEach { $0.terminate() } }
    // The receiving process is its child, whose CPU is not counted.
    let sender = try Subprocess(tool("gstreamer"), [from.name, to.name])
    defer { sender.terminate() }
    _ = try sender.wait(for: "playing")
    Thread.sleep(forTimeInterval: 5)
    let first = try sender.wait(for: "statistics", after: sender.events.count)
    let spent = sender.figures.cpuMilliseconds
    let begin = monotonicSeconds()
    let probe = try Probe.run(to.name, seconds: seconds)
    var row = Measurement("GStreamer", scene, probe)
    row.hostCPU = (sender.figures.cpuMilliseconds - spent) / (monotonicSeconds() - begin)
    let last = try sender.wait(for: "statistics", after: sender.events.count)
    row.kilobits = (last["bytes"] - first["bytes"]) * 8 / (last.time - first.time) / 1_000
    row.add(note: "\(cell((last["frames"] - first["frames"]) / (last.time - first.time), 1)) frames/s")
    let memory = sender.figures.memory
    row.residentMegabytes = memory.resident
    row.proportionalMegabytes = memory.proportional
    return row
}
