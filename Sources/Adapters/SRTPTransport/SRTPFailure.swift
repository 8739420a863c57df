/// Why a packet could not be protected or unprotected.
public enum SRTPFailure: Error, Hashable, Sendable {
    /// Received packet: the index was seen before or is older than the replay window. Sent packet: the sequence number
    /// was used before.
    case replay
    /// The authentication tag does not match: the packet is forged, damaged, or for other keys.
    case authentication
    /// The packet is too short, or its header exceeds it.
    case malformed
    /// The peer uses more than `SRTPSession.streamLimit` SSRCs.
    case tooManyStreams
    /// The keys have the wrong length.
    case keys
    case library(Int32)
}
