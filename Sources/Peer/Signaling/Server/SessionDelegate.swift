public import Admission
public import Identifiers

/// The owner of media sessions that were opened by WHEP or WHIP. Called from any thread, several calls at a time.
public protocol SessionDelegate: Sendable {
    /// Applies a trickle fragment (RFC 8840) to a session: more candidates, or new credentials, which restart ICE (RFC
    /// 9725 section 4.4). If the restart is not possible, this throws and the session stays unchanged.
    /// - Returns: the answer to a restart; nil for candidates.
    func applyFragment(_ fragment: String, to session: SessionID) async throws(OfferRefusal) -> RestartedSession?

    /// Closes a session because its peer asks for it. May be called twice.
    func closeSession(_ session: SessionID) async

    /// Reports that the peer of these sessions has opened an event stream, or has closed its last one. During an outage
    /// nothing is reported: the peer's FIN or RST cannot arrive.
    func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async
}

extension SessionDelegate {
    public func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async {}
}
