import Glibc
package import NIOSSL

/// TLS settings of clients of STUN and TURN servers, and of servers that are known by name. They trust the system's
/// roots, or those in the file that SSL_CERT_FILE names.
package enum TLSTrust {
    package static func clientContext(minimum: TLSVersion = .tlsv12) throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = minimum
        if let file = getenv("SSL_CERT_FILE").map({ String(cString: $0) }), !file.isEmpty {
            tls.trustRoots = .file(file)
        }
        return try NIOSSLContext(configuration: tls)
    }

    /// The server name for SNI; nil for an address, also one with a zone.
    package static func serverName(_ host: String) -> String? { ServerLookup.isAddress(host) ? nil : host }
}
