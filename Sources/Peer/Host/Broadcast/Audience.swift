/// How many viewers a broadcast has.
package struct Audience: Equatable, Sendable {
    package var viewers = 0
    /// Those of them that say that they record, and the recorders of the host.
    package var recorders = 0

    package init() {}

    init(viewers: Int, recorders: Int) {
        self.viewers = viewers
        self.recorders = recorders
    }

    package mutating func add(_ elsewhere: RelayViewerCount) { viewers = elsewhere.total(viewers) }
}

/// Those who watch at a relay to which a host with viewers of its own publishes.
package struct RelayViewerCount: Equatable, Sendable {
    package var count = 0
    /// All viewers are sent there. One that is about to go is at both places, and counts once.
    package var isForAll = false

    package init() {}

    /// - Parameter own: those that the host sends to.
    package func total(_ own: Int) -> Int { isForAll ? max(own, count) : own &+ count }
}
