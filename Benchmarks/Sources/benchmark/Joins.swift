import Foundation

/// Measures a host's memory while viewers join and leave.
///
/// - Parameters:
///   - joins: the number of viewers, one after the other.
///   - soak: the duration in seconds, instead of that number.
///   - soak: for how many seconds it goes on instead.
func measureJoins(binary: String, joins wanted: Int, soak: Int?) throws {
    Table.title(
        soak.map { "Memory over \($0) s with viewers that come and go" } ?? "Memory while \(wanted) viewers come and go"
    )
    Table.header(["viewers so far", "seconds", "RSS MB", "of it anonymous", "shared memory", "Pss"])
    let from = try VirtualDisplay()
    defer { from.close() }
    let actors = try Scene.stamp.start(on: from.name, seconds: (soak ?? wanted * 3) + 60)
    defer { actors.forEach { $0.terminate() } }
    let host = try ShareHost(binary: binary, display: from.name)
    defer { host.stop() }
    let staying = try host.join(display: nil)
    defer { staying.stop() }
    let begin = monotonicSeconds()
    var rows: [(joins: Int, memory: ProcessFigures.Memory)] = []
    var joins = 0
    var nextRow = 0.0
    while soak.map({ monotonicSeconds() - begin < Double($0) }) ?? (joins < wanted) {
        let seen = host.process.events.count
        let viewer = try host.join(display: nil)
        viewer.stop()
        _ = try host.process.wait(for: "viewer-left", after: seen)
        joins += 1
        if soak != nil { Thread.sleep(forTimeInterval: 10) }
        let elapsed = monotonicSeconds() - begin
        guard soak == nil ? joins % max(wanted / 6, 1) == 0 || joins == 1 : elapsed >= nextRow else { continue }
        nextRow = elapsed + 60
        let memory = host.process.figures.memory
        rows.append((joins, memory))
        Table.row([
            "\(joins)", cell(elapsed), cell(memory.resident, 1), cell(memory.anonymous, 1), cell(memory.shared, 1),
            cell(memory.proportional, 1),
        ])
    }
    guard let last = rows.last, let first = rows.first(where: { $0.joins >= 5 }), last.joins > first.joins else {
        return
    }
    let growth = (last.memory.resident - first.memory.resident) * 1_024 / Double(last.joins - first.joins)
    Table.line("")
    Table.line("From viewer \(first.joins) to viewer \(last.joins): \(cell(growth, 1)) KB a viewer.")
}

/// Lists the memory that a host keeps for viewers that have left: allocated while ten viewers joined and left, and not
/// freed.
func findLeaks(binary: String) throws {
    let file = try AllocationFile()
    let host = try ShareHost(
        binary: binary, display: nil, arguments: ["--source", "test", "--fps", "5", "--audio", "none"],
        environment: file.environment)
    defer { host.stop() }
    func joinAndLeave() throws {
        let seen = host.process.events.count
        let viewer = try host.join(display: nil)
        viewer.stop()
        _ = try host.process.wait(for: "viewer-left", after: seen)
    }
    for _ in 0..<5 { try joinAndLeave() }
    Thread.sleep(forTimeInterval: 2)
    try file.setTracing(.live)
    for _ in 0..<10 { try joinAndLeave() }
    // The state of a knock is kept for a minute.
    Thread.sleep(forTimeInterval: 75)
    let traces = try file.traces(live: true)
    try file.setTracing(.off)
    Table.title("What ten viewers left behind in the host")
    Table.line("\(traces.count) blocks, \(traces.reduce(0) { $0 + $1.size }) bytes")
    for line in Culprits.text(of: traces, in: host.process, title: "not freed", bySize: true) { Table.line(line) }
}

/// Lists the allocations of which a host's memory consists while one viewer watches.
func findOwners(binary: String) throws {
    let from = try VirtualDisplay()
    defer { from.close() }
    let actors = try Scene.stamp.start(on: from.name, seconds: 60)
    defer { actors.forEach { $0.terminate() } }
    let file = try AllocationFile(tracing: .live)
    let host = try ShareHost(binary: binary, display: from.name, environment: file.environment)
    defer { host.stop() }
    let viewer = try host.join(display: nil)
    defer { viewer.stop() }
    Thread.sleep(forTimeInterval: 5)
    let traces = try file.traces(live: true)
    try file.setTracing(.off)
    Table.title("What the host's heap is made of at 1920 x 1080")
    Table.line("\(traces.count) blocks, \(traces.reduce(0) { $0 + $1.size } / 1_024) KB")
    for line in Culprits.text(of: traces, in: host.process, title: "in use", bySize: true) { Table.line(line) }
}
