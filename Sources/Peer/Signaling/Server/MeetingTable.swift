import Admission
import Synchronization

/// The meetings of a server, by what is met and by the sessions that stand for them. Safe from any thread.
///
/// Bounded by the places of the service's register, of which each meeting holds one. Whose an identifier was is
/// remembered after the end of its meeting, so that nobody else gets the requests that are meant for its owner.
final class MeetingTable: Sendable {
    private struct State {
        var meetings: [MeetingID: Meeting] = [:]
        var ids: [SessionID: MeetingID] = [:]
        /// SHA-256 of the owners' certificates; the order is that of `known`.
        var owners: [MeetingID: [UInt8]] = [:]
        var known: [MeetingID] = []

        /// Forgets the owner that was known for longest among those without a meeting.
        mutating func forgetOldest() {
            guard let index = known.firstIndex(where: { meetings[$0] == nil }) else { return }
            owners[known.remove(at: index)] = nil
        }
    }

    private let ownerLimit: Int
    private let state = Mutex(State())

    init(ownerLimit: Int = 4_096) { self.ownerLimit = ownerLimit }

    subscript(id: MeetingID) -> Meeting? { state.withLock { $0.meetings[id] } }

    /// - Parameter fingerprint: SHA-256 of the owner's certificate.
    /// - Returns: false if there is a meeting with this identifier, or there was one of another owner.
    func add(_ meeting: Meeting, of fingerprint: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.meetings[meeting.id] == nil, state.owners[meeting.id] ?? fingerprint == fingerprint else {
                return false
            }
            if state.owners[meeting.id] == nil {
                if state.known.count >= ownerLimit { state.forgetOldest() }
                state.owners[meeting.id] = fingerprint
                state.known.append(meeting.id)
            }
            state.meetings[meeting.id] = meeting
            state.ids[meeting.session] = meeting.id
            return true
        }
    }

    /// Whether a session stands for a meeting.
    func has(_ session: SessionID) -> Bool { state.withLock { $0.ids[session] != nil } }

    /// Ends the meeting of a session, if it is one's.
    func end(_ session: SessionID, reason: String, isReplaced: Bool = false) {
        let meeting = state.withLock { state in
            state.ids.removeValue(forKey: session).flatMap { state.meetings.removeValue(forKey: $0) }
        }
        meeting?.end(reason: reason, isReplaced: isReplaced)
    }
}
