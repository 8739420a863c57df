/// Why a packet was not protected or not accepted.
public enum SRTPFailure: Error, Hashable, Sendable {
    /// Seen before, or too old to tell. For what we send: the sequence number was used before.
    case replay
    /// The tag does not match: forged, damaged, or for other keys.
    case authentication
    /// Too short, or a header that does not fit its packet.
    case malformed
    /// The other side uses more than `SRTPSession.streamLimit` SSRCs.
    case tooManyStreams
    /// Keys of the wrong length, or libsrtp's `srtp_err_status_t`.
    case keys
    case library(Int32)
}
