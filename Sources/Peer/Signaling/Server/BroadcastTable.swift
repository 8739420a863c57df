import Admission
import Synchronization

/// The broadcasts of a server by their identifiers. Safe from any thread.
///
/// Only the server's own process adds broadcasts. A full table refuses more.
final class BroadcastTable: Sendable {
    private struct State {
        var broadcasts: [BroadcastID: BroadcastResource] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// The dictionary's hashes are seeded at random, so the time of a lookup reveals nothing about other identifiers.
    subscript(id: BroadcastID) -> BroadcastResource? { state.withLock { $0.broadcasts[id] } }

    var count: Int { state.withLock { $0.broadcasts.count } }

    /// - Throws: `.broadcastExists`, `.tooManyBroadcasts`, or `.stopped` after `close`; the table is then unchanged.
    func add(_ broadcast: BroadcastResource) throws(SignalingServerError) {
        let id = broadcast.configuration.id
        let failure: SignalingServerError? = state.withLock { state in
            if state.isClosed { return SignalingServerError(.stopped, "the server has stopped") }
            if state.broadcasts[id] != nil {
                return SignalingServerError(.broadcastExists, "this server has a broadcast with that identifier")
            }
            if state.broadcasts.count >= capacity {
                return SignalingServerError(.tooManyBroadcasts, "this server takes \(capacity) broadcasts at most")
            }
            state.broadcasts[id] = broadcast
            return nil
        }
        if let failure { throw failure }
    }

    /// Removes this broadcast. Does nothing if it has been removed, also if its identifier is in use again.
    func remove(_ broadcast: BroadcastResource) {
        state.withLock { state in
            guard state.broadcasts[broadcast.configuration.id] === broadcast else { return }
            state.broadcasts[broadcast.configuration.id] = nil
        }
    }

    /// Refuses further broadcasts.
    /// - Returns: those that the table has.
    func close() -> [BroadcastResource] {
        state.withLock { state in
            state.isClosed = true
            return Array(state.broadcasts.values)
        }
    }

    func removeAll() { state.withLock { $0.broadcasts = [:] } }
}
