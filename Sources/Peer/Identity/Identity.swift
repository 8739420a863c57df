package import Cryptography
import SessionDescription

/// A peer's long-lived, self-signed ECDSA P-256 certificate with its private key. DTLS and the TLS of the host's
/// signalling server use the same certificate.
///
/// Values are immutable. They hold the private key, so never print one.
public struct Identity: Sendable {
    /// The certificate, DER (X.509 v3, self-signed).
    public let certificateDER: [UInt8]
    /// The private key (DER, PKCS#8).
    public let privateKeyDER: [UInt8]
    public let certificatePEM: String
    /// The private key (PKCS#8, "PRIVATE KEY").
    public let privateKeyPEM: String
    /// SHA-256 of `certificateDER`, 32 bytes.
    public let fingerprint: [UInt8]
    package let key: P256PrivateKey

    /// Creates an identity in memory, without a file.
    public static func ephemeral() throws(IdentityError) -> Identity {
        let key = P256PrivateKey()
        do {
            // The validity begins two days ago, so that a peer whose clock is a day slow accepts the certificate.
            let certificate = try X509Certificate(selfSignedBy: key, name: "share", validBefore: 2, days: 20 * 365)
            return Identity(certificate: certificate, key: key)
        } catch {
            throw IdentityError(.creation, "OpenSSL makes no certificate")
        }
    }

    /// Parses `pem`, which holds one certificate and its key in any order.
    /// - Throws: `.damaged`, with `path` in its message.
    init(pem: String, path: String) throws(IdentityError) {
        guard let blocks = PEM.blocks(of: pem) else { throw .damaged(path, "it cannot be read as PEM") }
        guard blocks.count == 2, let keyBlock = blocks.first(where: { $0.label == "PRIVATE KEY" }),
            let certificateBlock = blocks.first(where: { $0.label == "CERTIFICATE" })
        else { throw .damaged(path, "it does not hold one certificate and one key") }
        guard let key = P256PrivateKey(der: keyBlock.der), let certificate = X509Certificate(der: certificateBlock.der)
        else { throw .damaged(path, "its key and certificate are not ones on P-256") }
        guard certificate.publicKey.point == key.publicKey.point else {
            throw .damaged(path, "its key does not belong to its certificate")
        }
        self.init(certificate: certificate, key: key)
    }

    private init(certificate: X509Certificate, key: P256PrivateKey) {
        self.key = key
        certificateDER = certificate.der
        certificatePEM = PEM.text(.init("CERTIFICATE", certificateDER))
        privateKeyDER = key.der
        privateKeyPEM = PEM.text(.init("PRIVATE KEY", privateKeyDER))
        fingerprint = SHA256Hash(of: certificateDER).bytes
    }
}

extension Identity: CustomStringConvertible, CustomReflectable {
    public var description: String { "Identity(\(Fingerprint.colons(fingerprint)))" }
    public var customMirror: Mirror { Mirror(self, children: ["fingerprint": Fingerprint.colons(fingerprint)]) }
}

/// The reason why there is no identity. `description` is a sentence for people.
public struct IdentityError: Error, CustomStringConvertible {
    public enum Code: Sendable { case creation, directory, permissions, damaged, file }
    public let code: Code
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    package static func damaged(_ path: String, _ why: String) -> IdentityError {
        IdentityError(
            .damaged,
            "the identity in \(path) is damaged: \(why); move it away and start again to get a new one "
                + "(people who know this machine will be asked again)")
    }
}
