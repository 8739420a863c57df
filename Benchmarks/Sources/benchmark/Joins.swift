import Foundation

/// Memory of a host while viewers come and go.
///
/// - Parameter soak: for how many seconds it goes on; nil for thirty viewers.
func measureJoins(binary: String, soak: Int?) throws {
    Table.title(soak.map { "Memory over \($0) s with viewers that come and go" } ?? "Memory while thirty viewers come and go")
    Table.header(["viewers so far", "seconds", "RSS MB", "of it anonymous", "shared memory", "Pss"])
    let from = try VirtualDisplay()
    defer { from.close() }
    let actors = try Scene.stamp.start(on: from.name, seconds: (soak ?? 0) + 300)
    defer { actors.forEach { $0.terminate() } }
    let host = try ShareHost(binary: binary, display: from.name)
    defer { host.stop() }
    let staying = try host.join(display: nil)
    defer { staying.stop() }
    let begin = monotonicSeconds()
    var rows: [(joins: Int, memory: ProcessFigures.Memory)] = []
    var joins = 0
    var nextRow = 0.0
    while soak.map({ monotonicSeconds() - begin < Double($0) }) ?? (joins < 30) {
        let seen = host.process.events.count
        let viewer = try host.join(display: nil)
        viewer.stop()
        _ = try host.process.wait(for: "viewer-left", after: seen)
        joins += 1
        if soak != nil { Thread.sleep(forTimeInterval: 10) }
        let elapsed = monotonicSeconds() - begin
        guard soak == nil ? joins % 5 == 0 || joins == 1 : elapsed >= nextRow else { continue }
        nextRow = elapsed + 60
        let memory = host.process.figures.memory
        rows.append((joins, memory))
        Table.row([
            "\(joins)", cell(elapsed), cell(memory.resident, 1), cell(memory.anonymous, 1), cell(memory.shared, 1),
            cell(memory.proportional, 1),
        ])
    }
    guard let last = rows.last, let first = rows.first(where: { $0.joins >= 5 }), last.joins > first.joins else { return }
    let growth = (last.memory.resident - first.memory.resident) * 1_024 / Double(last.joins - first.joins)
    Table.line("")
    Table.line("From viewer \(first.joins) to viewer \(last.joins): \(cell(growth, 1)) KB a viewer.")
}
