internal import Crypto
import FoundationEssentials
import Identifiers
package import Identity

/// The values for a service's fields, encrypted for the service, so that a relay which passes them on cannot read them.
/// The host's signature covers them, so that it cannot replace them either.
///
/// HPKE (RFC 9180) in base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. The recipient's key is
/// that of the service's certificate, and `info` is the transcript that the service has signed.
package enum SealedSetup {
    /// The encapsulated key, an uncompressed point.
    private static let keyLength = 65

    private static var suite: HPKE.Ciphersuite { .P256_SHA256_AES_GCM_256 }

    /// - Parameter certificate: the service's, DER.
    /// - Returns: the encapsulated key and the ciphertext of the values as JSON; nil if the certificate is not that of
    ///   the transcript.
    package static func seal(
        _ setup: [String: String], for certificate: [UInt8], _ transcript: PairingTranscript
    ) -> [UInt8]? {
        guard
            let key = P256.Signing.PublicKey(
                certificate: certificate, fingerprint: transcript.serviceFingerprint),
            let recipient = try? P256.KeyAgreement.PublicKey(x963Representation: key.x963Representation),
            let plaintext = try? JSONEncoder().encode(setup),
            var sender = try? HPKE.Sender(recipientKey: recipient, ciphersuite: suite, info: info(transcript)),
            let ciphertext = try? sender.seal(plaintext)
        else { return nil }
        return Array(sender.encapsulatedKey) + Array(ciphertext)
    }

    /// - Parameter identity: the service's.
    /// - Returns: nil if the bytes were made for another service or another pairing, or were changed.
    package static func open(
        _ bytes: [UInt8], with identity: Identity, _ transcript: PairingTranscript
    ) -> [String: String]? {
        guard bytes.count > keyLength,
            let key = try? P256.KeyAgreement.PrivateKey(derRepresentation: identity.privateKeyDER),
            var recipient = try? HPKE.Recipient(
                privateKey: key, ciphersuite: suite, info: info(transcript),
                encapsulatedKey: Data(bytes.prefix(keyLength))),
            let plaintext = try? recipient.open(Data(bytes.dropFirst(keyLength)))
        else { return nil }
        return try? JSONDecoder().decode([String: String].self, from: plaintext)
    }

    /// SHA-256 of the sealed bytes.
    static func digest(of bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    private static func info(_ transcript: PairingTranscript) -> Data { Data(transcript.signedBytes(role: .service)) }
}

extension ServiceDescription {
    /// SHA-256 of identifier, name, terms, icon, and name and label of each field, each after its length (four bytes,
    /// big-endian). What is missing is empty.
    package var digest: [UInt8] {
        let parts: [[UInt8]] =
            [Array(id.text.utf8), Array(name.utf8), Array((terms ?? "").utf8), icon?.bytes ?? []]
            + fields.flatMap { [Array($0.name.utf8), Array($0.label.utf8)] }
        var hash = SHA256()
        for part in parts {
            withUnsafeBytes(of: UInt32(clamping: part.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: part)
        }
        return Array(hash.finalize())
    }
}
