import MediaCore
import PeerEngine

/// Decides when the keys of what a relay gets are changed, because somebody who has them does not watch any more: at
/// once after a removal, and once in half a minute after others have left. A value without a clock.
///
/// Members get the next epoch's secret first. It begins when the relay has passed that on, or a moment later.
struct KeyRotationState: StateMachine {
    enum Input: Sendable {
        case left
        /// The host's user has removed somebody.
        case removed
        /// The relay has passed the secret of this epoch on.
        case delivered(Int)
    }

    enum Action: Sendable {
        /// Choose the secret of the next epoch and have it passed on to the members; `.delivered` follows with this
        /// number.
        case prepare(Int)
        /// Begin the epoch that was prepared last.
        case begin
    }

    private enum Phase {
        case idle
        case gathering(until: MediaInstant)
        /// - Parameter isGathering: somebody has left meanwhile.
        case delivering(until: MediaInstant, isGathering: Bool)
    }

    static let gatheringTime = MediaDuration.seconds(30)
    static let deliveryTime = MediaDuration.milliseconds(500)

    private var phase = Phase.idle
    /// Of the newest epoch.
    private var number = 0

    var deadline: MediaInstant? {
        switch phase {
        case .idle: nil
        case .gathering(let end), .delivering(let end, _): end
        }
    }

    mutating func handle(
        _ input: Input, now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch (input, phase) {
        case (.left, .idle): phase = .gathering(until: now + Self.gatheringTime)
        case (.left, .delivering(let end, _)): phase = .delivering(until: end, isGathering: true)
        case (.left, .gathering): break
        case (.removed, _): return prepare(now)
        case (.delivered(number), .delivering): return begin(now)
        case (.delivered, _): break
        }
        return []
    }

    mutating func advance(now: MediaInstant, using generator: inout some RandomNumberGenerator) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        if case .gathering = phase { return prepare(now) }
        return begin(now)
    }

    private mutating func prepare(_ now: MediaInstant) -> [Action] {
        number += 1
        phase = .delivering(until: now + Self.deliveryTime, isGathering: false)
        return [.prepare(number)]
    }

    private mutating func begin(_ now: MediaInstant) -> [Action] {
        guard case .delivering(_, let isGathering) = phase else { return [] }
        phase = isGathering ? .gathering(until: now + Self.gatheringTime) : .idle
        return [.begin]
    }
}
