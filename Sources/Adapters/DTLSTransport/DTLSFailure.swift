/// Why there is no DTLS session.
public enum DTLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Our own certificate or key cannot be used.
    case identity(String)
    /// The other side has another certificate than was announced: someone is in between, or the description is old.
    case fingerprintMismatch
    /// The other side speaks no SRTP profile that we speak.
    case noSRTPProfile
    /// No answer to repeated messages.
    case timeout
    /// The handshake broke; OpenSSL's reason.
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
