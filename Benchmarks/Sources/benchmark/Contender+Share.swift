import Foundation

/// `share host` on one display and `share join` in a window on another.
func measureShare(_ scene: Scene, binary: String, seconds: Int) throws -> Measurement {
    try withDisplays(start: { try scene.start(on: $0, seconds: seconds + 30) }) { from, to in
        let host = try ShareHost(binary: binary, display: from)
        defer { host.stop() }
        let viewer = try host.join(display: to)
        defer { viewer.stop() }
        var probe: Probe?
        var isAtRest = true
        if scene.hasStamp {
            // Until still content has been refined, the results are those of the start.
            Thread.sleep(forTimeInterval: 3)
        } else {
            isAtRest = try host.waitForRest()
        }
        let figures = try host.measure {
            if scene.hasStamp {
                probe = try Probe.run(to, seconds: seconds)
            } else {
                Thread.sleep(forTimeInterval: Double(seconds))
            }
        }
        var row = Measurement("share", scene, probe)
        row.firstPicture = viewer.firstPicture
        row.hostCPU = figures.cpu
        row.kilobits = figures.kilobits
        let memory = host.process.figures.memory
        row.residentMegabytes = memory.resident
        row.proportionalMegabytes = memory.proportional
        if !isAtRest { row.add(note: "still refining after 20 s") }
        if figures.framesPerSecond > 0 {
            row.add(
                note: "\(cell(figures.framesPerSecond, 1)) frames/s: read \(cell(figures.readMilliseconds, 1)), "
                    + "encode \(cell(figures.encodeMilliseconds, 1)) ms")
        }
        return row
    }
}
