public import Admission
public import Identifiers
public import PeerConnection
public import Signaling

/// An event of a ``ServiceSession``.
public enum ServiceSessionEvent: Sendable {
    /// A host has signed a pairing, and the service's user or policy is asked.
    case pairing(PairingRequest)
    case paired(PairingRequest)
    case pairingRefused(PairingRequest, reason: String)
    /// A broadcast was opened; media follows.
    case opened(SessionID, Publisher)
    case connected(SessionID, path: String)
    /// No packets arrive from the publisher.
    case interrupted(SessionID)
    case resumed(SessionID)
    case closed(SessionID, Publisher, EndReason)
    /// A host, or another service, is reached over this service's server.
    case tunnelOpened(SessionID, Publisher, TunnelID)
    case tunnelClosed(SessionID, TunnelID)
    /// A broadcast is in the directory from now on.
    case listed(SessionID, DirectoryEntry)
    /// A broadcast shows another application now.
    case annotated(SessionID, ApplicationInfo)
    case notice(Notice)
}
