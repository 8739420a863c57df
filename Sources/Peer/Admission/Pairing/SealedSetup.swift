internal import Cryptography
import FoundationEssentials
import Identifiers
package import Identity

/// The values for a service's fields, encrypted for the service, so that a relay which passes them on cannot read them.
/// The host's signature covers them, so that it cannot replace them either.
///
/// HPKE (RFC 9180) in base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. The recipient's key is
/// that of the service's certificate, and `info` is the transcript that the service has signed.
package enum SealedSetup {
    /// - Parameter certificate: the service's, DER.
    /// - Returns: the encapsulated key and the ciphertext of the values as JSON; nil if the certificate is not that of
    ///   the transcript.
    package static func seal(
        _ setup: [String: String], for certificate: [UInt8], _ transcript: PairingTranscript
    ) -> [UInt8]? {
        guard
            let recipient = CertificateSignature.key(
                of: certificate, fingerprint: transcript.serviceFingerprint),
            let plaintext = try? JSONEncoder().encode(setup)
        else { return nil }
        return HPKE.seal(Array(plaintext), for: recipient, info: transcript.signedBytes(role: .service))
    }

    /// - Parameter identity: the service's.
    /// - Returns: nil if the bytes were made for another service or another pairing, or were changed.
    package static func open(
        _ bytes: [UInt8], with identity: Identity, _ transcript: PairingTranscript
    ) -> [String: String]? {
        guard let plaintext = HPKE.open(bytes, with: identity.key, info: transcript.signedBytes(role: .service))
        else { return nil }
        return try? JSONDecoder().decode([String: String].self, from: Data(plaintext))
    }

    /// SHA-256 of the sealed bytes.
    static func digest(of bytes: [UInt8]) -> [UInt8] { SHA256Hash(of: bytes).bytes }
}

extension ServiceDescription {
    /// SHA-256 of identifier, name, terms, icon, and name and label of each field, each after its length (four bytes,
    /// big-endian). What is missing is empty.
    package var digest: [UInt8] {
        let parts: [[UInt8]] =
            [Array(id.text.utf8), Array(name.utf8), Array((terms ?? "").utf8), icon?.bytes ?? []]
            + fields.flatMap { [Array($0.name.utf8), Array($0.label.utf8)] }
        let fields = parts.flatMap { part in
            withUnsafeBytes(of: UInt32(clamping: part.count).bigEndian) { Array($0) } + part
        }
        return SHA256Hash(of: fields).bytes
    }
}
