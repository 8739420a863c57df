/// Hybrid public key encryption of one message (RFC 9180), in base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and
/// AES-256-GCM.
public enum HPKE {
    /// Of the encapsulated key, an uncompressed point, in bytes.
    public static let encapsulatedLength = P256PublicKey.length

    /// - Parameter info: what both sides have to agree on.
    /// - Returns: the encapsulated key, the ciphertext and the tag.
    public static func seal(_ plaintext: [UInt8], for recipient: P256PublicKey, info: [UInt8]) -> [UInt8] {
        let ephemeral = P256PrivateKey()
        let encapsulated = ephemeral.publicKey.point
        let (key, nonce) = schedule(
            ephemeral.agreement(with: recipient), encapsulated + recipient.point, info)
        var output = encapsulated
        plaintext.withUnsafeBytes { AESGCM(key: key).seal($0, nonce: nonce, to: &output) }
        return output
    }

    /// - Returns: nil if `bytes` were not sealed for this recipient and this info.
    public static func open(_ bytes: [UInt8], with recipient: P256PrivateKey, info: [UInt8]) -> [UInt8]? {
        let encapsulated = Array(bytes.prefix(encapsulatedLength))
        guard let sender = P256PublicKey(point: encapsulated) else { return nil }
        let (key, nonce) = schedule(
            recipient.agreement(with: sender), encapsulated + recipient.publicKey.point, info)
        var output: [UInt8] = []
        let isOpened = bytes.withUnsafeBytes {
            AESGCM(key: key).open(
                UnsafeRawBufferPointer(rebasing: $0[encapsulatedLength...]), nonce: nonce, to: &output)
        }
        return isOpened ? output : nil
    }

    /// The key and the nonce of the first message (sections 4.1 and 5.1).
    private static func schedule(
        _ agreement: [UInt8], _ context: [UInt8], _ info: [UInt8]
    ) -> (key: [UInt8], nonce: [UInt8]) {
        // Identifiers of the KEM, the KDF and the AEAD (section 7).
        let kem = Labels(suite: Array("KEM".utf8) + [0, 0x10])
        let suite = Labels(suite: Array("HPKE".utf8) + [0, 0x10, 0, 0x01, 0, 0x02])
        let secret = kem.expand(kem.extract([], "eae_prk", agreement), "shared_secret", context, count: 32)
        // The mode, and the hashes of a key that both know, which the base mode does not have, and of `info`.
        let whole = [0] + suite.extract([], "psk_id_hash", []) + suite.extract([], "info_hash", info)
        let key = suite.extract(secret, "secret", [])
        return (
            suite.expand(key, "key", whole, count: 32),
            suite.expand(key, "base_nonce", whole, count: AESGCM.nonceLength)
        )
    }

    /// HKDF with the labels of section 4.
    private struct Labels {
        let suite: [UInt8]

        func extract(_ salt: [UInt8], _ label: String, _ secret: [UInt8]) -> [UInt8] {
            HKDF.extract(salt: salt, Array("HPKE-v1".utf8) + suite + Array(label.utf8) + secret)
        }

        func expand(_ key: [UInt8], _ label: String, _ info: [UInt8], count: Int) -> [UInt8] {
            let head = [UInt8(count >> 8), UInt8(count & 0xFF)] + Array("HPKE-v1".utf8) + suite
            return HKDF.expand(key, info: head + Array(label.utf8) + info, count: count)
        }
    }
}
