public import Identifiers
public import MediaCore

/// One session of a viewer, as the host's user sees it.
public struct ViewerSessionInfo: Sendable, Equatable {
    /// Counts the sessions of the broadcast from 1. It stays the same as long as the session, and is not used again.
    public var number: Int
    public var id: SessionID
    public var description: ViewerDescription
    /// SHA-256 of the viewer's certificate, 32 bytes.
    public var fingerprint: [UInt8]
    /// The identity of the accepted knock; nil for a player with the fixed token.
    public var identity: ViewerIdentity?
    /// How long media has been flowing; nil before the connection is complete.
    public var connectedFor: MediaDuration?
    /// No packets arrive from the viewer.
    public var isInterrupted: Bool
    /// The selected pair: "direct, ..." or "relayed, ...".
    public var path: String
    /// The bitrate of all RTP packets in the last second.
    public var bitrate: Bitrate
    /// The relay sends to this viewer, and not this host.
    public package(set) var isAtRelay = false
    /// What it may do beside watching; nil: the broadcast takes no messages of it.
    public package(set) var rights: ViewerRights?

    public init(
        number: Int, id: SessionID, description: ViewerDescription, fingerprint: [UInt8], identity: ViewerIdentity?,
        connectedFor: MediaDuration?, isInterrupted: Bool, path: String, bitrate: Bitrate
    ) {
        self.number = number
        self.id = id
        self.description = description
        self.fingerprint = fingerprint
        self.identity = identity
        self.connectedFor = connectedFor
        self.isInterrupted = isInterrupted
        self.path = path
        self.bitrate = bitrate
    }

    /// Whether both sessions are of one viewer: they have the same proven identity or, with the fixed token, the same
    /// certificate.
    public func isSameViewer(as other: ViewerSessionInfo) -> Bool {
        identity == other.identity && fingerprint == other.fingerprint
    }
}
