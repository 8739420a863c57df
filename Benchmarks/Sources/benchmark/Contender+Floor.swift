import Foundation

/// Measures a lower bound: the same work in one thread, without network, encryption or a second process.
func measureFloor(_ scene: Scene, seconds: Int) throws -> Measurement {
    try withDisplays(start: { try scene.start(on: $0, seconds: seconds + 30) }) { from, to in
        let floor = try Subprocess(tool("floor"), [from, to, "\(seconds + 10)"])
        defer { floor.terminate() }
        Thread.sleep(forTimeInterval: 3)
        let cpu = floor.figures.cpuMilliseconds
        let begin = monotonicSeconds()
        let probe = try Probe.run(to, seconds: seconds)
        var row = Measurement("floor", scene, probe)
        row.hostCPU = (floor.figures.cpuMilliseconds - cpu) / (monotonicSeconds() - begin)
        row.add(note: "encodes and decodes")
        return row
    }
}
