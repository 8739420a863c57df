import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// ECDSA P-256 signatures with SHA-256, made with the key of a peer's certificate: 64 bytes, r | s (IEEE P1363).
package enum CertificateSignature {
    package static let length = 64
    /// The largest certificate that is accepted, in bytes of DER. Certificates of `Identity` have about 400.
    static let certificateLimit = 2_048

    /// Returns whether the key of `certificate` made `signature`.
    /// - Parameters:
    ///   - certificate: DER.
    ///   - fingerprint: SHA-256 that `certificate` must have, 32 bytes.
    package static func isValid(
        _ signature: [UInt8], over bytes: [UInt8], certificate: [UInt8], fingerprint: [UInt8]
    ) -> Bool {
        guard let key = P256.Signing.PublicKey(certificate: certificate, fingerprint: fingerprint) else { return false }
        return key.isValid(signature, over: bytes)
    }

    /// Returns whether `certificate` (DER) has this fingerprint and a key of P-256.
    package static func isUsable(_ certificate: [UInt8], fingerprint: [UInt8]) -> Bool {
        P256.Signing.PublicKey(certificate: certificate, fingerprint: fingerprint) != nil
    }
}

extension P256.Signing.PublicKey {
    /// Nil unless `certificate` (DER) has this fingerprint, is not too large, and holds a key of P-256.
    package init?(certificate: [UInt8], fingerprint: [UInt8]) {
        // The hash is compared first, so that no other certificate is parsed.
        guard certificate.count <= CertificateSignature.certificateLimit,
            Array(SHA256.hash(data: certificate)) == fingerprint,
            let parsed = try? Certificate(derEncoded: certificate)
        else { return nil }
        self.init(parsed.publicKey)
    }

    /// - Parameter signature: 64 bytes, r | s.
    package func isValid(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
        guard signature.count == CertificateSignature.length,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return isValidSignature(signature, for: Data(bytes))
    }
}

extension Identity {
    /// Signs with the certificate's key: ECDSA P-256 with SHA-256. Returns 64 bytes, r | s (IEEE P1363).
    package func signature(over bytes: [UInt8]) throws(IdentityError) -> [UInt8] {
        do {
            let key = try P256.Signing.PrivateKey(derRepresentation: privateKeyDER)
            return [UInt8](try key.signature(for: Data(bytes)).rawRepresentation)
        } catch {
            throw IdentityError(.creation, "the identity's key does not sign: \(error)")
        }
    }
}
