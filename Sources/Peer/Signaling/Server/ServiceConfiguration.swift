public import Admission

/// One service as a ``SignalingServer`` serves it: what hosts are told, and how many may pair and publish at a time.
///
/// The limits protect the service's user, and hold for each service by itself. Limits of connections, requests and
/// failures protect the server, and hold for all of its broadcasts and services together
/// (``SignalingServer/Configuration``).
public struct ServiceConfiguration: Sendable {
    public var description: ServiceDescription
    /// 16 bytes in the service's link, which hosts prove to have; nil: the link has none.
    public var linkSecret: [UInt8]?
    public var iceServers: [ICEServer] = []
    /// Makes credentials for the TURN servers among them that have no user name.
    public var turnSecret: TURNSecret?
    /// Where people can watch what this service takes in; told with each grant. An event may replace it.
    public var broadcastURL: String?
    /// The token with which WHIP tools publish without a pairing; nil unless the user asked for it. See ``FixedToken``.
    public var fixedToken: String?
    /// Pairings that one of both users is asked about, at a time.
    public var pendingPairings = 64
    /// Those from one address (IPv6: /64).
    public var pendingPairingsPerAddress = 4
    /// Sessions at a time. A granted pairing has its place among them.
    public var sessionCapacity = 4
    /// Until a pairing that is not signed is removed; the host's user is asked in this time.
    public var signatureTimeout: Duration = .seconds(180)
    /// Until a question to the service's user counts as unanswered.
    public var decisionTimeout = PairingRequest.answerTime
    /// Until a pairing that nobody polls is withdrawn.
    public var abandonTimeout: Duration = .seconds(5)
    /// How long a refused host is refused again without a question.
    public var refusalTimeout: Duration = .seconds(60)
    /// How long a granted token is valid without a session.
    public var lease: Duration = .seconds(10)
    /// Until a tunnel at which nobody was ends when another host wants its place.
    public var idleTunnelTimeout: Duration = .seconds(600)
    /// Until a tunnel at which nobody was ends by itself, unless a person has accepted its host.
    public var emptyTunnelTimeout: Duration = .seconds(12 * 3_600)
    /// How long a session may be without media (``ServiceHandle/mediaReceived(_:)``).
    public var mediaTimeout: Duration = .seconds(10)
    var pairingRate = BroadcastConfiguration.KnockRate()
    var eventStreamCapacity = 64

    /// Makes room for so many broadcasts at a time, with a stream of events each.
    public mutating func serve(broadcasts: Int) {
        sessionCapacity = broadcasts
        eventStreamCapacity = max(eventStreamCapacity, broadcasts * 2)
    }

    var pairingLimits: PairingTable.Limits {
        PairingTable.Limits(
            signature: signatureTimeout, answer: decisionTimeout, abandoned: abandonTimeout, lease: lease,
            silence: mediaTimeout, refusal: refusalTimeout, pairings: pendingPairings,
            pairingsOfAddress: pendingPairingsPerAddress, broadcasts: sessionCapacity)
    }

    public init(_ description: ServiceDescription, fixedToken: String? = nil) {
        self.description = description
        self.fixedToken = fixedToken
    }
}
