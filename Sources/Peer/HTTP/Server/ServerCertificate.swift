import Glibc
package import NIOSSL
import Synchronization

/// The certificate of an operator, with which the server is known by its name: a chain, the server's own certificate
/// first, and its private key.
public struct ServerCertificate: Sendable {
    /// The DNS names of the certificate, which may begin with `*.`, and then its addresses.
    public let names: [String]
    /// In seconds since 1970.
    public let expiry: Int
    package let context: NIOSSLContext

    /// - Parameters: the contents of two PEM files.
    public init(chain: [UInt8], key: [UInt8]) throws(ServerCertificateError) {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(chain), let leaf = chain.first else {
            throw .noCertificate
        }
        guard let privateKey = try? NIOSSLPrivateKey(bytes: key, format: .pem) else {
            throw String(decoding: key, as: UTF8.self).contains("ENCRYPTED") ? .encryptedKey : .noKey
        }
        do {
            context = try .server(chain, privateKey)
        } catch {
            throw .keyDoesNotMatch
        }
        names = Self.names(of: leaf)
        expiry = Int(leaf.notValidAfter)
        guard !names.isEmpty else { throw .noName }
    }

    private static func names(of certificate: NIOSSLCertificate) -> [String] {
        let all = certificate._subjectAlternativeNames()
        let texts = all.filter { $0.nameType == .dnsName }.map { String(decoding: $0.contents, as: UTF8.self) }
        // Others cannot be in a link, and are no names of DNS.
        let isName = { (text: String) in
            !text.isEmpty
                && text.utf8.allSatisfy {
                    (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                        || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*")].contains($0)
                }
        }
        return texts.filter(isName)
            + all.filter { $0.nameType == .ipAddress }.compactMap { text(of: Array($0.contents)) }
    }

    /// - Parameter address: 4 or 16 bytes.
    private static func text(of address: [UInt8]) -> String? {
        guard address.count == 4 || address.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = address.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The name for links: the first that is no pattern.
    public var linkHost: String? { names.first { !$0.hasPrefix("*") } }

    /// Whether clients that reach the server by this name or address accept the certificate (RFC 6125 section 6.4).
    public func isFor(_ host: String) -> Bool {
        let host = host.lowercased()
        return names.contains { name in
            let name = name.lowercased()
            guard name.hasPrefix("*."), !ServerLookup.isAddress(host) else { return name == host }
            guard let dot = host.firstIndex(of: "."), dot > host.startIndex else { return false }
            return host[dot...] == name.dropFirst()
        }
    }

    public var hasExpired: Bool { time(nil) > expiry }
}

/// The reason why two files are no certificate and its key. `description` says it: "has no certificate in PEM".
public enum ServerCertificateError: Error, Equatable, CustomStringConvertible {
    case noCertificate, noKey, encryptedKey, keyDoesNotMatch, noName

    public var description: String {
        switch self {
        case .noCertificate: "has no certificate in PEM"
        case .noKey: "has no private key in PEM"
        case .encryptedKey: "has an encrypted key: remove its passphrase"
        case .keyDoesNotMatch: "does not have the key of the certificate"
        case .noName: "has a certificate without a name (subjectAltName)"
        }
    }

    /// Whether the fault is in the file of the key.
    public var isOfKey: Bool { [.noKey, .encryptedKey, .keyDoesNotMatch].contains(self) }
}

extension NIOSSLContext {
    /// TLS of the server.
    package static func server(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        tls.minimumTLSVersion = .tlsv12
        // TLS 1.2 is allowed with forward secrecy and AEAD only (RFC 9325 section 4.2). The server's own certificate
        // has a key of P-256, that of an operator may have one of RSA.
        tls.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        tls.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: tls)
    }
}

/// The certificate that new connections get. Safe from any thread.
package final class PresentedCertificate: Sendable {
    private let state = Mutex<NIOSSLContext?>(nil)

    package init() {}

    package var context: NIOSSLContext? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
