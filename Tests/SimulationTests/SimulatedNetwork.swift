import MediaCore

/// A host on a `SimulatedNetwork`.
protocol SimulatedParty: AnyObject {
    /// Later than the last step.
    var nextEvent: MediaInstant { get }
    func step(at now: MediaInstant)
}

/// Runs several calls and other traffic in the same virtual time.
final class SimulatedNetwork {
    private var parties: [any SimulatedParty] = []
    private var changes: [(at: MediaInstant, change: () -> Void)] = []
    private(set) var now = SimulatedCall.start

    func add(_ party: any SimulatedParty) { parties.append(party) }

    func after(_ duration: MediaDuration, _ change: @escaping () -> Void) {
        changes.append((SimulatedCall.start + duration, change))
        changes.sort { $0.at < $1.at }
    }

    func run(until duration: MediaDuration) {
        let end = SimulatedCall.start + duration
        var due = parties.map(\.nextEvent)
        while true {
            var next = changes.first?.at ?? .distantFuture
            for at in due where at < next { next = at }
            guard next < end else { break }
            now = max(now, next)
            if let change = changes.first, change.at <= now {
                changes.removeFirst()
                change.change()
                due = parties.map(\.nextEvent)
            }
            for index in due.indices where due[index] <= now {
                parties[index].step(at: now)
                due[index] = parties[index].nextEvent
            }
        }
        now = end
    }
}
