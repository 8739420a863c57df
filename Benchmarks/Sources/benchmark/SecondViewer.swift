import Foundation

/// What a second viewer costs the host.
func measureSecondViewer(binary: String, seconds: Int) throws {
    Table.title("A second viewer")
    Table.header([
        "scene", "packets/s to one", "host CPU with 1, ms/s", "with 2", "with 1 again", "second viewer costs",
    ])
    for scene in [Scene.stamp, .video] {
        let from = try VirtualDisplay()
        defer { from.close() }
        let actors = try scene.start(on: from.name, seconds: seconds * 3 + 30)
        defer { actors.forEach { $0.terminate() } }
        let host = try ShareHost(binary: binary, display: from.name)
        defer { host.stop() }
        func figures() throws -> ShareHost.Figures {
            Thread.sleep(forTimeInterval: 3)
            return try host.measure { Thread.sleep(forTimeInterval: Double(seconds)) }
        }
        let first = try host.join(display: nil)
        defer { first.stop() }
        let one = try figures()
        let second = try host.join(display: nil)
        let two = try figures()
        second.stop()
        let again = try figures()
        let mean = (one.cpu + again.cpu) / 2
        Table.row([
            scene.rawValue, cell(one.packetsPerSecond), cell(one.cpu, 1), cell(two.cpu, 1), cell(again.cpu, 1),
            cell((two.cpu / max(mean, 1) - 1) * 100, 1) + " %",
        ])
    }
}
