import Foundation

/// Measures the cost of a packet for the thread `net-0` of the host and of a headless viewer, at a high rate: the
/// scrolling terminal.
///
/// - Parameter other: another build, measured alternately with the first, so that changes over time affect both.
func measurePacketCosts(binary: String, against other: String?, seconds: Int) throws {
    Table.title("CPU of the network thread")
    Table.header([
        "program", "round", "Mbit/s", "packets/s", "host's net-0, ms/s", "us a packet", "viewer's net-0, ms/s",
        "us a packet",
    ])
    let binaries = [binary] + (other.map { [$0] } ?? [])
    var costs = [PacketCost](repeating: PacketCost(), count: binaries.count)
    for round in 1...5 {
        for (index, binary) in binaries.enumerated() {
            let cost = try measurePacketCost(binary: binary, seconds: seconds)
            costs[index].rounds.append(cost)
            Table.row([binary, "\(round)"] + cost.cells)
        }
    }
    for (index, binary) in binaries.enumerated() {
        let (host, viewer) = (costs[index].median(\.hostMicroseconds), costs[index].median(\.viewerMicroseconds))
        Table.row([binary, "median", "", "", "", host, "", viewer])
    }
}

private struct PacketCost {
    var rounds: [Round] = []

    struct Round {
        var megabits: Double
        var packetsPerSecond: Double
        /// CPU of the network thread, in ms a second.
        var host: Double
        var viewer: Double

        var hostMicroseconds: Double { host * 1e3 / max(packetsPerSecond, 1) }
        var viewerMicroseconds: Double { viewer * 1e3 / max(packetsPerSecond, 1) }

        var cells: [String] {
            [
                cell(megabits, 1), cell(packetsPerSecond), cell(host, 1), cell(hostMicroseconds, 2), cell(viewer, 1),
                cell(viewerMicroseconds, 2),
            ]
        }
    }

    func median(_ field: KeyPath<Round, Double>) -> String {
        cell(rounds.map { $0[keyPath: field] }.sorted()[rounds.count / 2], 2)
    }
}

private func measurePacketCost(binary: String, seconds: Int) throws -> PacketCost.Round {
    let from = try VirtualDisplay()
    defer { from.close() }
    let actors = try Scene.scrolling.start(on: from.name, seconds: seconds + 20)
    defer { actors.forEach { $0.terminate() } }
    let host = try ShareHost(binary: binary, display: from.name)
    defer { host.stop() }
    let viewer = try host.join(display: nil)
    defer { viewer.stop() }
    // The initial probes are over by then.
    Thread.sleep(forTimeInterval: 4)
    var viewerCPU = 0.0
    var elapsed = 0.0
    let figures = try host.measure {
        viewerCPU = viewer.process.figures.cpuMilliseconds(ofThread: "net-0")
        elapsed = monotonicSeconds()
        Thread.sleep(forTimeInterval: Double(seconds))
        viewerCPU = viewer.process.figures.cpuMilliseconds(ofThread: "net-0") - viewerCPU
        elapsed = monotonicSeconds() - elapsed
    }
    return .init(
        megabits: figures.kilobits / 1e3, packetsPerSecond: figures.packetsPerSecond, host: figures.networkCPU,
        viewer: viewerCPU / elapsed)
}
