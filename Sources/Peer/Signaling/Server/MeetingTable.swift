import Admission
import Synchronization

/// The meetings of a server, by their broadcasts and by the sessions that stand for them. Safe from any thread.
///
/// Bounded by the places of the service's register, of which each meeting holds one.
final class MeetingTable: Sendable {
    private struct State {
        var meetings: [BroadcastID: Meeting] = [:]
        var broadcasts: [SessionID: BroadcastID] = [:]
    }

    private let state = Mutex(State())

    subscript(id: BroadcastID) -> Meeting? { state.withLock { $0.meetings[id] } }

    /// - Returns: false if there is a meeting for this broadcast.
    func add(_ meeting: Meeting) -> Bool {
        state.withLock { state in
            guard state.meetings[meeting.id] == nil else { return false }
            state.meetings[meeting.id] = meeting
            state.broadcasts[meeting.session] = meeting.id
            return true
        }
    }

    /// Ends the meeting of a session, if it is one's.
    func end(_ session: SessionID, reason: String) {
        let meeting = state.withLock { state in
            state.broadcasts.removeValue(forKey: session).flatMap { state.meetings.removeValue(forKey: $0) }
        }
        meeting?.end(reason: reason)
    }
}
