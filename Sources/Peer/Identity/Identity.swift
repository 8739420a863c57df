internal import Crypto
import FoundationEssentials
import SessionDescription
import SwiftASN1
import X509

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

    /// Creates an identity in memory, without a file.
    public static func ephemeral() throws(IdentityError) -> Identity {
        do {
            let key = P256.Signing.PrivateKey()
            let name = try DistinguishedName { CommonName("share") }
            let certificate = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(),
                publicKey: Certificate.PublicKey(key.publicKey),
                // The validity begins two days ago, so that a peer whose clock is a day slow accepts the certificate.
                notValidBefore: Date(timeIntervalSinceNow: -2 * 86_400),
                notValidAfter: Date(timeIntervalSinceNow: 20 * 365 * 86_400),
                issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
                extensions: try Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    Critical(KeyUsage(digitalSignature: true))
                    try ExtendedKeyUsage([.serverAuth, .clientAuth])
                },
                issuerPrivateKey: Certificate.PrivateKey(key))
            return try Identity(certificate: certificate, key: key)
        } catch {
            throw IdentityError(.creation, "cannot make a certificate: \(error)")
        }
    }

    /// Parses `pem`, which holds one certificate and its key in any order.
    /// - Throws: `.damaged`, with `path` in its message.
    init(pem: String, path: String) throws(IdentityError) {
        do {
            let documents = try PEMDocument.parseMultiple(pemString: pem)
            guard let keyDocument = documents.first(where: { $0.discriminator == "PRIVATE KEY" }),
                let certificateDocument = documents.first(where: { $0.discriminator == "CERTIFICATE" }),
                documents.count == 2
            else { throw IdentityError.damaged(path, "it does not hold one certificate and one key") }
            let key = try P256.Signing.PrivateKey(derRepresentation: keyDocument.derBytes)
            let certificate = try Certificate(derEncoded: certificateDocument.derBytes)
            guard certificate.publicKey == Certificate.PublicKey(key.publicKey) else {
                throw IdentityError.damaged(path, "its key does not belong to its certificate")
            }
            try self.init(certificate: certificate, key: key)
        } catch let error as IdentityError {
            throw error
        } catch {
            throw IdentityError.damaged(path, "it cannot be read as PEM")
        }
    }

    private init(certificate: Certificate, key: P256.Signing.PrivateKey) throws {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        certificateDER = serializer.serializedBytes
        certificatePEM = try certificate.serializeAsPEM().pemString
        privateKeyDER = [UInt8](key.derRepresentation)
        privateKeyPEM = key.pemRepresentation
        fingerprint = [UInt8](SHA256.hash(data: certificateDER))
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
