import Glibc
package import TLSTransport

/// TLS settings of clients of STUN and TURN servers, and of servers that are known by name. They trust the system's
/// roots, or those in the file that SSL_CERT_FILE names.
package enum TLSTrust {
    package static func clientContext(least: TLSContext.Version = .tls12) throws(TLSFailure) -> TLSContext {
        guard let file = getenv("SSL_CERT_FILE").map({ String(cString: $0) }), !file.isEmpty else {
            return try TLSContext(client: .system, least: least)
        }
        return try TLSContext(client: .authorities(file: file), least: least)
    }
}
