import Admission
import Synchronization

/// The meetings of a server, by their broadcasts and by the sessions that stand for them. Safe from any thread.
///
/// Bounded by the places of the service's register, of which each meeting holds one. Whose the identifier of a meeting
/// was is remembered after its end, so that no other host gets the requests of its viewers.
final class MeetingTable: Sendable {
    private struct State {
        var meetings: [BroadcastID: Meeting] = [:]
        var broadcasts: [SessionID: BroadcastID] = [:]
        /// SHA-256 of the hosts' certificates; the order is that of `known`.
        var owners: [BroadcastID: [UInt8]] = [:]
        var known: [BroadcastID] = []
    }

    private static let ownerLimit = 4_096
    private let state = Mutex(State())

    subscript(id: BroadcastID) -> Meeting? { state.withLock { $0.meetings[id] } }

    /// - Parameter fingerprint: SHA-256 of the host's certificate.
    /// - Returns: false if there is a meeting for this broadcast, or there was one of another host.
    func add(_ meeting: Meeting, of fingerprint: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.meetings[meeting.id] == nil, state.owners[meeting.id] ?? fingerprint == fingerprint else {
                return false
            }
            if state.owners[meeting.id] == nil {
                if state.known.count >= Self.ownerLimit { state.owners[state.known.removeFirst()] = nil }
                state.owners[meeting.id] = fingerprint
                state.known.append(meeting.id)
            }
            state.meetings[meeting.id] = meeting
            state.broadcasts[meeting.session] = meeting.id
            return true
        }
    }

    /// Whether a session stands for a meeting.
    func has(_ session: SessionID) -> Bool { state.withLock { $0.broadcasts[session] != nil } }

    /// Ends the meeting of a session, if it is one's.
    func end(_ session: SessionID, reason: String) {
        let meeting = state.withLock { state in
            state.broadcasts.removeValue(forKey: session).flatMap { state.meetings.removeValue(forKey: $0) }
        }
        meeting?.end(reason: reason)
    }
}
