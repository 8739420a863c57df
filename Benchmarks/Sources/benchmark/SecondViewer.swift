import Foundation

/// Measures the cost of a second viewer for the host. The host has a core of its own: viewers usually run on other
/// machines, and here their decoders would compete for its time and caches.
func measureSecondViewer(binary: String, seconds: Int) throws {
    Table.title("A second viewer")
    Table.header([
        "scene", "packets/s to one", "host CPU with 1, ms/s", "with 2", "second viewer costs", "of it on net-0, ms/s",
    ])
    for scene in [Scene.stamp, .video] {
        // Programs started next, with all their threads, keep this core.
        try keep(to: 1)
        let from = try VirtualDisplay()
        defer { from.close() }
        let rounds = 3
        let actors = try scene.start(on: from.name, seconds: (seconds + 5) * 2 * rounds + 30)
        defer { actors.forEach { $0.terminate() } }
        try keep(to: 0)
        let host = try ShareHost(binary: binary, display: from.name)
        defer { host.stop() }
        try keep(to: 1)
        func figures() throws -> ShareHost.Figures {
            Thread.sleep(forTimeInterval: 3)
            return try host.measure { Thread.sleep(forTimeInterval: Double(seconds)) }
        }
        let first = try host.join(display: nil)
        defer { first.stop() }
        var one: [ShareHost.Figures] = []
        var two: [ShareHost.Figures] = []
        // Measured alternately, so that changes over time affect both.
        for _ in 0..<rounds {
            one.append(try figures())
            let second = try host.join(display: nil)
            two.append(try figures())
            second.stop()
        }
        func median(_ figures: [ShareHost.Figures], _ field: KeyPath<ShareHost.Figures, Double>) -> Double {
            figures.map { $0[keyPath: field] }.sorted()[figures.count / 2]
        }
        let (alone, both) = (median(one, \.cpu), median(two, \.cpu))
        Table.row([
            scene.rawValue, cell(median(one, \.packetsPerSecond)), range(one.map(\.cpu)), range(two.map(\.cpu)),
            cell((both / max(alone, 1) - 1) * 100, 1) + " %",
            cell(median(two, \.networkCPU) - median(one, \.networkCPU), 1),
        ])
    }
    try keep(to: nil)
}

/// Formats the minimum, the median and the maximum.
private func range(_ values: [Double]) -> String {
    let sorted = values.sorted()
    guard let least = sorted.first, let most = sorted.last else { return "" }
    return "\(cell(sorted[sorted.count / 2], 1)) (\(cell(least, 1))-\(cell(most, 1)))"
}

/// Pins this process and its future children to one core; nil for all.
private func keep(to core: Int?) throws {
    let cores = core.map { "\($0)" } ?? "0-\(ProcessInfo.processInfo.processorCount - 1)"
    let taskset = Process()
    taskset.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
    taskset.arguments = ["--all-tasks", "--cpu-list", "--pid", cores, "\(getpid())"]
    taskset.standardOutput = FileHandle.nullDevice
    try taskset.run()
    taskset.waitUntilExit()
    guard taskset.terminationStatus == 0 else { throw BenchmarkFailure("the host cannot have a core to itself") }
}
