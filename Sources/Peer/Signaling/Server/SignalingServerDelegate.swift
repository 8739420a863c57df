public import Admission

/// The host as the signalling server sees it: decides on knocks and answers offers.
///
/// Called from any thread, several calls at a time. The server checks proofs, signatures, tokens and limits before it
/// calls.
public protocol SignalingServerDelegate: Sendable {
    /// Decides on a knock, by asking a person or by a policy. When the decision is not needed any more, the task is
    /// cancelled and `knockWithdrawn` follows.
    func decide(_ knock: Knock) async -> KnockDecision

    /// Reports that nobody waits for the decision any more, so the question can be removed.
    func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async

    /// Answers a WHEP offer. The server has compared the offer's fingerprint with `viewer.fingerprint`; the DTLS
    /// handshake has to check it again. After 6 s the server stops waiting, and closes a session that is opened later.
    func openSession(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession

    /// Applies a trickle fragment (RFC 8840) to a session of `openSession`: more candidates, or new credentials, which
    /// restart ICE (RFC 9725 section 4.4). If the restart is not possible, this throws and the session stays unchanged.
    /// - Returns: the host's answer to a restart; nil for candidates.
    func applyFragment(_ fragment: String, to session: SessionID) async throws(OfferRefusal) -> RestartedSession?

    /// Reports that the viewer of these sessions has opened an event stream, or has closed its last one. During an
    /// outage nothing is reported: the viewer's FIN or RST cannot arrive.
    func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async

    /// Closes a session because its viewer asks for it. May be called twice.
    func closeSession(_ session: SessionID) async
}

extension SignalingServerDelegate {
    public func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async {}
}
