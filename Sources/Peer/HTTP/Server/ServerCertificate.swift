import Glibc
import Synchronization
package import TLSTransport

/// The certificate of an operator, with which the server is known by its name: a chain, the server's own certificate
/// first, and its private key.
public struct ServerCertificate: Sendable {
    /// The DNS names of the certificate, which may begin with `*.`, and then its addresses.
    public let names: [String]
    /// In seconds since 1970.
    public let expiry: Int
    package let context: TLSContext

    /// - Parameters: the contents of two PEM files.
    public init(chain: [UInt8], key: [UInt8]) throws(ServerCertificateError) {
        let chain = TLSCertificate.chain(pem: chain)
        guard let leaf = chain.first else { throw .noCertificate }
        guard let privateKey = TLSPrivateKey(pem: key) else {
            throw String(decoding: key, as: UTF8.self).contains("ENCRYPTED") ? .encryptedKey : .noKey
        }
        do {
            context = try TLSContext(server: chain, privateKey)
        } catch .otherKey {
            throw .keyDoesNotMatch
        } catch .identity(let reason) {
            throw .unusable(reason)
        } catch {
            throw .unusable("\(error)")
        }
        names = Self.names(of: leaf)
        expiry = leaf.expiry
        guard !names.isEmpty else { throw .noName }
    }

    private static func names(of certificate: TLSCertificate) -> [String] {
        let all = certificate.names
        let texts = all.compactMap { if case .host(let text) = $0 { text } else { nil } }
        // Others cannot be in a link, and are no names of DNS.
        let isName = { (text: String) in
            !text.isEmpty
                && text.utf8.allSatisfy {
                    (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                        || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*")].contains($0)
                }
        }
        return texts.filter(isName)
            + all.compactMap { if case .address(let bytes) = $0 { text(of: bytes) } else { nil } }
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
    /// With OpenSSL's reason.
    case unusable(String)

    public var description: String {
        switch self {
        case .noCertificate: "has no certificate in PEM"
        case .noKey: "has no private key in PEM"
        case .encryptedKey: "has an encrypted key: remove its passphrase"
        case .keyDoesNotMatch: "does not have the key of the certificate"
        case .unusable(let reason): "has a certificate that OpenSSL refuses: \(reason)"
        case .noName: "has a certificate without a name (subjectAltName)"
        }
    }

    /// Whether the fault is in the file of the key.
    public var isOfKey: Bool { [.noKey, .encryptedKey, .keyDoesNotMatch].contains(self) }
}

/// The certificate that new connections get. Safe from any thread.
package final class PresentedCertificate: Sendable {
    private let state = Mutex<TLSContext?>(nil)

    package init() {}

    package var context: TLSContext? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
