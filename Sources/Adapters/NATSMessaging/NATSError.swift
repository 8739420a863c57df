import CNATS

/// Why there is no connection. `description` is a sentence in libnats' and OpenSSL's words; parts of it come from the
/// server.
public struct NATSError: Error, Equatable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// No server answers.
        case unreachable
        /// The server's certificate is signed by an authority that is not trusted here.
        case untrustedAuthority
        /// The server's certificate is for other names.
        case wrongName
        /// The server's certificate has expired, or is not valid yet.
        case outOfDate
        /// Any other failure of TLS.
        case tls
        /// The server has no TLS.
        case noTLS
        /// The server does not accept the user, password or certificate.
        case refused
        case other
    }

    public let kind: Kind
    public let description: String

    init(_ what: String, _ status: natsStatus) {
        kind = Self.kind(status, "")
        description = "\(what): \(String(cString: natsStatus_GetText(status)))"
    }

    /// The failure of the last call on this thread, with its details.
    init(lastErrorOf what: String, _ status: natsStatus) {
        let detail = nats_GetLastError(nil).map { Self.withoutPlace(String(cString: $0)) } ?? ""
        kind = Self.kind(status, detail)
        description = "\(what): \(detail.isEmpty ? String(cString: natsStatus_GetText(status)) : detail)"
    }

    /// libnats begins with the place in its source: "(conn.c:733): ".
    private static func withoutPlace(_ text: String) -> String {
        guard text.hasPrefix("("), let end = text.firstIndex(of: ")") else { return text }
        return String(text[text.index(after: end)...].drop { $0 == ":" || $0 == " " })
    }

    private static func kind(_ status: natsStatus, _ detail: String) -> Kind {
        switch status {
        case NATS_NO_SERVER, NATS_IO_ERROR, NATS_TIMEOUT, NATS_ADDRESS_MISSING: .unreachable
        case NATS_CONNECTION_AUTH_FAILED, NATS_NOT_PERMITTED: .refused
        case NATS_SECURE_CONNECTION_WANTED: .noTLS
        case NATS_SSL_ERROR: verification(detail)
        default: .other
        }
    }

    /// libnats writes the code of X509_verify_cert: "SSL handshake error: 20:unable to get local issuer
    /// certificate:...".
    private static func verification(_ detail: String) -> Kind {
        let prefix = "SSL handshake error: "
        guard detail.hasPrefix(prefix), let code = Int(detail.dropFirst(prefix.count).prefix { $0.isNumber }) else {
            return .tls
        }
        return switch code {
        case 2, 18, 19, 20, 21: .untrustedAuthority
        case 9, 10: .outOfDate
        case 62, 64: .wrongName
        default: .tls
        }
    }
}
