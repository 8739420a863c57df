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

    /// Adds viewers elsewhere, where all are sent to. One that is about to go there is at both places, and counts once.
    package mutating func add(elsewhere count: Int) { viewers = max(viewers, count) }
}
