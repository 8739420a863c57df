/// Why a DTLS handshake or its configuration failed.
public enum DTLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The local certificate or key cannot be used.
    case identity(String)
    /// The peer's certificate differs from the announced fingerprint: a third party intercepts, or the description is
    /// out of date.
    case fingerprintMismatch
    /// The peer and this side have no SRTP profile in common.
    case noSRTPProfile
    /// The peer did not answer the retransmissions.
    case timeout
    /// The handshake failed, with OpenSSL's reason.
    case handshake(String)
    case library(String)

    public var description: String {
        switch self {
        case .identity(let reason): "Our certificate cannot be used: \(reason)."
        case .fingerprintMismatch:
            "The other side's certificate is not the one it announced; the connection was refused."
        case .noSRTPProfile: "The other side offers no way to encrypt media that this program knows."
        case .timeout: "The other side stopped answering while the connection was being encrypted."
        case .handshake(let reason): "The connection could not be encrypted: \(reason)."
        case .library(let reason): "OpenSSL refused to work: \(reason)."
        }
    }
}
