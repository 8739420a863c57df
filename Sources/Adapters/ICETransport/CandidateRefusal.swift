import SessionDescription

/// Why a candidate of the other side was not used.
public enum CandidateRefusal: Error, Hashable, Sendable {
    /// libnice does not take it.
    case malformed
    /// TCP candidates and other transports.
    case notUDP
    /// RTP and RTCP share one component here (RFC 5761).
    case otherComponent
    /// A host name or an mDNS name; libnice would look it up.
    case hostName
    /// Unspecified, multicast or broadcast; or port 0.
    case unusableAddress
    case tooMany
    case closed

    /// Of a candidate that no agent of ours tries; nil for one that is ``ICECandidate/isUsable``.
    init?(of candidate: ICECandidate) {
        if candidate.component != 1 {
            self = .otherComponent
        } else if candidate.transport != .udp {
            self = .notUDP
        } else if case .address = candidate.addressKind {
            if candidate.isUsable { return nil }
            self = .unusableAddress
        } else {
            self = .hostName
        }
    }
}
