import Glibc
import NIOSSL

/// TLS settings of clients of STUN and TURN servers. They trust the system's roots, or those in the file that
/// SSL_CERT_FILE names.
enum TLSTrust {
    static func clientContext() throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let file = getenv("SSL_CERT_FILE").map({ String(cString: $0) }), !file.isEmpty {
            tls.trustRoots = .file(file)
        }
        return try NIOSSLContext(configuration: tls)
    }

    /// The server name for SNI; nil for an address, also one with a zone.
    static func serverName(_ host: String) -> String? { ServerLookup.isAddress(host) ? nil : host }
}
