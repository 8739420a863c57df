public import Identifiers
public import Identity

/// A viewer that was let in.
public struct Viewer: Sendable {
    /// The accepted knock; nil for a player with the host's fixed token.
    public let knock: KnockID?
    public let name: String
    public let kind: String
    public let address: String
    /// The viewer says that it records.
    public var records = false
    /// The viewer has found the broadcast on the local network, and does not have the link.
    package var isFromAnnouncement = false
    /// SHA-256 of the only DTLS certificate that may receive media, 32 bytes.
    public let fingerprint: [UInt8]
    /// The identity of the accepted knock; nil for a player with the host's fixed token. Sessions replace each other by
    /// `identity` and not by `fingerprint`, which anybody can claim.
    public var identity: ViewerIdentity?
    /// The words of the accepted knock.
    public var words: ShortAuthenticationString?
    /// Nobody was asked about this viewer, so it may have to make room for others.
    package var isAdmittedByRule = false
    /// Binds orders to the accepted knock; nil if the viewer has sent no nonce: it gets no order.
    package var origin: KnockOrigin?
    /// For what only this viewer may read; nil if its knock was of version 1.
    package var keyWrap: KeyWrap?
    /// Distinguishes programs that use one certificate. It stays the same when a program joins again; nil if the viewer
    /// sent none.
    public var clientInstance: ClientInstanceID?

    package init(
        knock: KnockID?, name: String, kind: String, address: String, fingerprint: [UInt8],
        identity: ViewerIdentity? = nil, words: ShortAuthenticationString? = nil,
        clientInstance: ClientInstanceID? = nil
    ) {
        self.knock = knock
        self.name = name
        self.kind = kind
        self.address = address
        self.fingerprint = fingerprint
        self.identity = identity
        self.words = words
        self.clientInstance = clientInstance
    }
}
