package import Identifiers

extension PairingTable {
    /// The pairing of a token; nil if there is no such token, or if it has ended.
    package func pairing(token: String) -> PairingRequest? { leases.lease(token)?.request }

    /// Whether a person, and no rule, has accepted the host of a session.
    package func isAcceptedByPerson(_ session: SessionID) -> Bool {
        leases.all.contains { $0.state == .open(session) && $0.isAcceptedByPerson }
    }

    /// Begins to answer the offer of a session.
    /// - Parameter fingerprint: of the offer.
    package mutating func beginSession(token: String, fingerprint: [UInt8], now: Instant) -> SessionStart {
        guard let lease = leases.lease(token), now < lease.deadline else { return .unknownToken }
        guard lease.request.fingerprint == fingerprint else { return .otherCertificate }
        guard lease.state == .unused else { return .taken }
        leases.set(token, .opening, until: now + limits.lease)
        return .opening(lease.request)
    }

    /// - Returns: false if the token has ended meanwhile. Then the caller closes the session.
    package mutating func sessionOpened(token: String, _ session: SessionID, now: Instant) -> Bool {
        guard let lease = leases.lease(token), lease.state == .opening else { return false }
        leases.set(token, .open(session), until: now + limits.silence)
        return true
    }

    /// Handles that the offer was not answered. The lease goes on as if it had not been made.
    package mutating func sessionFailed(token: String) {
        guard let lease = leases.lease(token), lease.state == .opening else { return }
        leases.set(token, .unused, until: lease.leaseEnd)
    }

    /// Handles that the session receives media. Calls may be as rare as one a second.
    /// - Parameter duration: how long the session lives without another call; nil: ``Limits/silence``.
    package mutating func mediaReceived(_ session: SessionID, lasting duration: Duration? = nil, now: Instant) {
        leases.extend(session, until: now + (duration ?? limits.silence))
    }

    /// Handles the end of a session: its token ends, too.
    package mutating func sessionEnded(_ session: SessionID, now: Instant) -> [Action] {
        guard let ticket = leases.ticket(of: session) else { return [] }
        // The caller has closed the session.
        return endLease(of: ticket, .expired, because: nil, now)
    }
}
