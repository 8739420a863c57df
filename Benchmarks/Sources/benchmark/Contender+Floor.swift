import Foundation

/// The least that can be had: the same work in one thread, without network, crypto or a second process.
func measureFloor(_ scene: Scene, seconds: Int) throws -> Measurement {
    let from = try VirtualDisplay()
    let to = try VirtualDisplay()
    defer {
        from.close()
        to.close()
    }
    let actors = try scene.start(on: from.name, seconds: seconds + 30)
    defer { actors.forEach { $0.terminate() } }
    let floor = try Subprocess(tool("floor"), [from.name, to.name, "\(seconds + 10)"])
    defer { floor.terminate() }
    Thread.sleep(forTimeInterval: 3)
    let cpu = floor.figures.cpuMilliseconds
    let begin = monotonicSeconds()
    let probe = try Probe.run(to.name, seconds: seconds)
    var row = Measurement("floor", scene, probe)
    row.hostCPU = (floor.figures.cpuMilliseconds - cpu) / (monotonicSeconds() - begin)
    row.add(note: "encodes and decodes")
    return row
}
