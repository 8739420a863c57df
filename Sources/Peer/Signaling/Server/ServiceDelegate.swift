public import Admission
public import Identifiers

/// The host or program that publishes a session to a service.
public struct Publisher: Sendable {
    /// The granted pairing; nil for a WHIP tool with the service's fixed token, which has none.
    public let pairing: KnockID?
    /// The application whose frames it publishes, as the host says; nil without a pairing.
    public let application: ApplicationInfo?
    /// The values that the host's user has entered, by the names of the service's setup fields.
    public let setup: [String: String]
    /// The program that sent the offer, by its `User-Agent`. Not verified.
    public let kind: String
    /// The address of the connection, without port.
    public let address: String
    /// SHA-256 of the only DTLS certificate that may send media, 32 bytes. With the fixed token it is that of the
    /// offer.
    public let fingerprint: [UInt8]
    /// It wants to be asked about each viewer, if the service is a relay.
    public let decidesOnViewers: Bool
    /// Its media is encrypted for viewers whom it sends here, and for nobody else.
    public let isEncrypted: Bool
    /// The broadcast that goes on here, after another relay of a cluster; nil: a new one.
    public let resumes: BroadcastID?
    /// A silent session whose broadcast goes on with this one; nil: there is none.
    package var replaces: SessionID?

    package init(
        pairing: KnockID?, application: ApplicationInfo?, setup: [String: String], kind: String, address: String,
        fingerprint: [UInt8], decidesOnViewers: Bool = false, isEncrypted: Bool = false,
        resumes: BroadcastID? = nil
    ) {
        self.pairing = pairing
        self.application = application
        self.setup = setup
        self.kind = kind
        self.address = address
        self.fingerprint = fingerprint
        self.decidesOnViewers = decidesOnViewers
        self.isEncrypted = isEncrypted
        self.resumes = resumes
    }
}

/// A service as the signalling server sees it: decides on pairings and answers offers.
///
/// Called from any thread, several calls at a time. The server checks signatures, tokens and limits before it calls.
public protocol ServiceDelegate: SessionDelegate {
    /// Decides on a pairing that the host has signed, by asking a person or by a policy. When the decision is not
    /// needed any more, the task is cancelled and `pairingWithdrawn` follows.
    func decide(_ request: PairingRequest) async -> PairingDecision

    /// Reports that nobody waits for the decision any more, so the question can be removed.
    func pairingWithdrawn(_ id: KnockID) async

    /// Reports that a granted pairing is over, and that its token is not valid any more: its lease has run out, or the
    /// service has finished it.
    func pairingEnded(_ id: KnockID) async

    /// Decides whether a paired host is reached over this server: the requests of its viewers are then forwarded to it,
    /// and its responses to them. A service is reached by its hosts in the same way. `closeSession` follows when the
    /// tunnel is over.
    /// - Parameters:
    ///   - session: stands for the tunnel.
    ///   - id: as the host or the service has chosen it.
    /// - Returns: false for a service that is no relay.
    func openTunnel(_ session: SessionID, of id: TunnelID, publisher: Publisher) async -> Bool

    /// Lists the broadcast of a publisher in the directory, or replaces what is said there of it.
    /// - Parameter sessions: of the publisher.
    func list(_ listing: Listing, of application: ApplicationInfo, by sessions: [SessionID]) async -> ListingOutcome

    /// Takes the broadcast of a publisher out of the directory.
    func unlist(_ sessions: [SessionID]) async

    /// Handles what a publisher tells of its broadcast.
    /// - Parameter sessions: of the publisher.
    /// - Returns: false if it has no such broadcast, nobody waits for the decision, or there is no such viewer.
    func handle(_ message: PublisherMessage, by sessions: [SessionID]) async -> Bool

    /// Finds the publishers that are not heard any more. A short silence is waited for.
    /// - Parameters:
    ///   - sessions: of the same token and address as a publisher that comes.
    ///   - publisher: the one that comes.
    /// - Returns: the sessions of the others, first the one that is most like it.
    func silentSessions(among sessions: [SessionID], for publisher: Publisher) async -> [SessionID]

    /// Answers a WHIP offer. The server has compared the offer's fingerprint with `publisher.fingerprint`; the DTLS
    /// handshake has to check it again. After 6 s the server stops waiting, and closes a session that is opened later.
    func openSession(offer: String, publisher: Publisher) async throws(OfferRefusal) -> OpenedSession
}

extension ServiceDelegate {
    public func handle(_ message: PublisherMessage, by sessions: [SessionID]) async -> Bool { false }

    public func openTunnel(_ session: SessionID, of id: TunnelID, publisher: Publisher) async -> Bool {
        false
    }

    public func list(
        _ listing: Listing, of application: ApplicationInfo, by sessions: [SessionID]
    ) async -> ListingOutcome { .notLive }

    public func unlist(_ sessions: [SessionID]) async {}

    public func silentSessions(among sessions: [SessionID], for publisher: Publisher) async -> [SessionID] { [] }

    public func pairingEnded(_ id: KnockID) async {}
}
