import Foundation

/// Measures a lower bound: the same work in one thread, without network, encryption or a second process.
func measureFloor(_ scene: Scene, seconds: Int) throws -> Measurement {
    try withFloor(seconds: seconds, start: { try scene.start(on: $0, seconds: seconds + 30) }) { floor, to in
        let cpu = floor.figures.cpuMilliseconds
        let begin = monotonicSeconds()
        let probe = try Probe.run(to, seconds: seconds)
        var row = Measurement("floor", scene, probe)
        row.hostCPU = (floor.figures.cpuMilliseconds - cpu) / (monotonicSeconds() - begin)
        row.add(note: "encodes and decodes")
        return row
    }
}

/// Runs `body` while the floor shows one display on another.
/// - Parameter start: starts the programs on the first display.
func withFloor<Result>(
    seconds: Int, start: (String) throws -> [Subprocess], _ body: (_ floor: Subprocess, _ display: String) throws -> Result
) throws -> Result {
    try withDisplays(start: start) { from, to in
        let floor = try Subprocess(tool("floor"), [from, to, "\(seconds + 10)"])
        defer { floor.terminate() }
        Thread.sleep(forTimeInterval: 3)
        return try body(floor, to)
    }
}
