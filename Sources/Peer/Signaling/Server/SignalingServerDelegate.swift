public import Admission
public import Identifiers
public import MediaCore

/// The host as the signalling server sees it: decides on knocks and answers offers.
///
/// Called from any thread, several calls at a time. The server checks proofs, signatures, tokens and limits before it
/// calls.
public protocol SignalingServerDelegate: SessionDelegate {
    /// Decides on a knock, by asking a person or by a policy. When the decision is not needed any more, the task is
    /// cancelled and `knockWithdrawn` follows.
    func decide(_ knock: Knock) async -> KnockDecision

    /// Reports that nobody waits for the decision any more, so the question can be removed.
    func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async

    /// Answers a WHEP offer. The server has compared the offer's fingerprint with `viewer.fingerprint`; the DTLS
    /// handshake has to check it again. After 6 s the server stops waiting, and closes a session that is opened later.
    func openSession(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession

    /// What an admitted viewer needs to open frames that come over a relay; nil: nothing.
    /// - Parameter viewer: one that watches at a relay, and asks for these keys; nil: it is being admitted.
    func frameKeys(asMember viewer: Viewer?) async -> [UInt8]?

    /// Waits until there is a place for a viewer who is about to learn of its admission, as the broadcast may have lost
    /// that since the decision.
    /// - Returns: false if there is none after some seconds.
    func hasPlace() async -> Bool

    /// The order to a viewer that is being admitted to watch at another server; nil: it stays at this one.
    func redirect(of viewer: Viewer) -> SignedRedirect?

    /// Has a relay pass an event for all viewers on to those whom the host has sent there.
    /// - Parameters:
    ///   - event: text of `text/event-stream`.
    ///   - isDroppable: it may be left out.
    func passOn(_ event: String, isDroppable: Bool)

    /// The same with events for one viewer.
    /// - Returns: false if the viewer of the session is at no relay.
    func passOn(_ events: String, to session: SessionID) -> Bool

    /// Takes messages of a viewer that has an admission, in their order, up to the first that is refused.
    func take(_ messages: [ViewerMessage], from viewer: Viewer) async -> MessageRefusal?

    /// A WebSocket of messages of a viewer is closed.
    func closedMessages(of viewer: Viewer) async

    /// Limits the video layers that a session gets, or lifts the limit.
    /// - Throws: `.unprocessable` if there is no such layer.
    func select(_ layers: LayerSelection, for session: SessionID) async throws(OfferRefusal)
}

extension SignalingServerDelegate {
    public func frameKeys(asMember viewer: Viewer?) async -> [UInt8]? { nil }
    public func hasPlace() async -> Bool { true }
    public func redirect(of viewer: Viewer) -> SignedRedirect? { nil }

    public func passOn(_ event: String, isDroppable: Bool) {}

    public func passOn(_ events: String, to session: SessionID) -> Bool { false }

    public func take(_ messages: [ViewerMessage], from viewer: Viewer) async -> MessageRefusal? { .notTaken }
    public func closedMessages(of viewer: Viewer) async {}
}
