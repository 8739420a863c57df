import SessionDescription

/// Why a candidate of the other side is not used.
public enum CandidateRefusal: Error, Hashable, Sendable {
    /// libnice cannot parse it.
    case malformed
    /// It is a TCP candidate, or of another transport.
    case notUDP
    /// It is of another component; RTP and RTCP share one component here (RFC 5761).
    case otherComponent
    /// It has a host name or an mDNS name, which libnice would resolve.
    case hostName
    /// Its address is unspecified, multicast or broadcast, or its port is 0.
    case unusableAddress
    case tooMany
    case closed

    /// The reason why a candidate is not tried; nil for one that is ``ICECandidate/isUsable``.
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
