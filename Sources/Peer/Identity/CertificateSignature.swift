package import Cryptography

/// ECDSA P-256 signatures with SHA-256, made with the key of a peer's certificate: 64 bytes, r | s (IEEE P1363).
package enum CertificateSignature {
    package static let length = P256PublicKey.signatureLength
    /// The largest certificate that is accepted, in bytes of DER. Certificates of `Identity` have about 400.
    static let certificateLimit = 2_048

    /// Returns whether the key of `certificate` made `signature`.
    /// - Parameters:
    ///   - certificate: DER.
    ///   - fingerprint: SHA-256 that `certificate` must have, 32 bytes.
    package static func isValid(
        _ signature: [UInt8], over bytes: [UInt8], certificate: [UInt8], fingerprint: [UInt8]
    ) -> Bool {
        key(of: certificate, fingerprint: fingerprint)?.isValid(signature, over: bytes) ?? false
    }

    /// Returns whether `certificate` (DER) has this fingerprint and a key of P-256.
    package static func isUsable(_ certificate: [UInt8], fingerprint: [UInt8]) -> Bool {
        key(of: certificate, fingerprint: fingerprint) != nil
    }

    /// Nil unless `certificate` (DER) has this fingerprint, is not too large, and holds a key of P-256.
    package static func key(of certificate: [UInt8], fingerprint: [UInt8]) -> P256PublicKey? {
        // The hash is compared first, so that no other certificate is parsed.
        guard certificate.count <= certificateLimit, SHA256Hash(of: certificate).bytes == fingerprint else {
            return nil
        }
        return X509Certificate(der: certificate)?.publicKey
    }
}

extension Identity {
    /// Signs with the certificate's key: ECDSA P-256 with SHA-256. Returns 64 bytes, r | s (IEEE P1363).
    package func signature(over bytes: [UInt8]) -> [UInt8] { key.signature(over: bytes) }
}
