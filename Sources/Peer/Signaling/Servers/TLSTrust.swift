import Glibc
import NIOCore
import NIOSSL

/// Whom a TLS client of ours trusts.
enum TLSTrust {
    static func clientContext() throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let file = getenv("SSL_CERT_FILE").map({ String(cString: $0) }), !file.isEmpty {
            tls.trustRoots = .file(file)
        }
        return try NIOSSLContext(configuration: tls)
    }

    /// What to ask for in TLS; nil for an address, also one with a zone.
    static func serverName(_ host: String) -> String? {
        host.contains(":") || (try? SocketAddress(ipAddress: host, port: 1)) != nil ? nil : host
    }
}
