/// Why TLS failed.
public enum TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with a certificate for the host that is connected to.
    public enum Flaw: Hashable, Sendable {
        /// It is for another name or address.
        case otherName
        case expired
        case notYetValid
        /// Its key or its signature is too short (OpenSSL's security level).
        case weak
        /// No authority that is trusted has issued it.
        case untrusted
    }

    case certificate(Flaw)
    /// The certificate is none that the caller accepts.
    case refusedCertificate
    /// The handshake failed, with OpenSSL's reason.
    case handshake(String)
    /// What came after the handshake was no TLS, with OpenSSL's reason.
    case record(String)
    /// The connection ended without close_notify (RFC 8446 section 6.1).
    case truncated
    /// The certificate does not have this key.
    case otherKey
    /// The certificate or its chain cannot be used, with OpenSSL's reason.
    case identity(String)
    case library(String)

    public var description: String {
        switch self {
        case .certificate(.otherName): "The certificate is for another name."
        case .certificate(.expired): "The certificate has expired."
        case .certificate(.notYetValid): "The certificate is not valid yet; this computer's clock may be wrong."
        case .certificate(.weak): "The certificate has a key or a signature that is too weak."
        case .certificate(.untrusted): "The certificate is not from an authority that this computer trusts."
        case .refusedCertificate: "The certificate is not the expected one."
        case .handshake(let reason): "The TLS handshake failed: \(reason)."
        case .record(let reason): "What was received is no TLS: \(reason)."
        case .truncated: "The connection ended in the middle."
        case .otherKey: "The certificate does not have this key."
        case .identity(let reason): "The certificate cannot be used: \(reason)."
        case .library(let reason): "OpenSSL refused to work: \(reason)."
        }
    }
}
