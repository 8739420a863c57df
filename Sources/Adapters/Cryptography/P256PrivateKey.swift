internal import COpenSSL

/// A private key on the curve P-256 (FIPS 186-4), for ECDSA with SHA-256 and for ECDH.
// SAFETY: OpenSSL changes a key only where it is made; its uses from several threads are allowed then.
public final class P256PrivateKey: @unchecked Sendable {
    public let publicKey: P256PublicKey
    let key: OpaquePointer

    /// Makes a new key.
    public init() {
        guard let key = OpenSSL.call({ cssl_generate_p256() }), EVP_PKEY_up_ref(key) == 1,
            let publicKey = P256PublicKey(owning: key)
        else { preconditionFailure("this machine's OpenSSL makes no keys on P-256") }
        self.key = key
        self.publicKey = publicKey
    }

    /// Nil unless `der` is a private key on P-256, as PKCS #8 (RFC 5208) or SEC 1 (RFC 5915).
    public init?(der: [UInt8]) {
        let key = OpenSSL.call {
            der.withUnsafeBufferPointer { der in
                var position = der.baseAddress
                let key = d2i_AutoPrivateKey(nil, &position, der.count)
                guard let key, position == der.baseAddress.map({ $0 + der.count }), Self.isPair(key) else {
                    EVP_PKEY_free(key)
                    return nil as OpaquePointer?
                }
                return key
            }
        }
        guard let key, EVP_PKEY_up_ref(key) == 1 else { return nil }
        guard let publicKey = P256PublicKey(owning: key) else {
            EVP_PKEY_free(key)
            return nil
        }
        self.key = key
        self.publicKey = publicKey
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether the point in a key belongs to its secret number. OpenSSL does not look when it reads the key.
    private static func isPair(_ key: OpaquePointer) -> Bool {
        let context = EVP_PKEY_CTX_new(key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_pairwise_check(context) == 1
    }

    /// PKCS #8 (RFC 5208).
    public var der: [UInt8] {
        let info = EVP_PKEY2PKCS8(key)
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        guard let info, let der = encoded({ i2d_PKCS8_PRIV_KEY_INFO(info, $0) }) else {
            preconditionFailure("OpenSSL does not encode its own key")
        }
        return der
    }

    /// Signs with ECDSA and SHA-256.
    /// - Returns: 64 bytes, r | s (IEEE P1363).
    public func signature(over bytes: [UInt8]) -> [UInt8] {
        // SEQUENCE of two integers of up to 33 bytes.
        var der = [UInt8](repeating: 0, count: 80)
        var count = der.count
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &der, &count, bytes, bytes.count) == 1,
            let raw = ECDSASignature.raw(Array(der.prefix(count)))
        else { preconditionFailure("OpenSSL does not sign with its own key") }
        return raw
    }

    /// ECDH (NIST SP 800-56A): the x coordinate of the shared point, 32 bytes.
    public func agreement(with other: P256PublicKey) -> [UInt8] {
        let context = EVP_PKEY_CTX_new(key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: 32)
        var count = secret.count
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other.key) == 1,
            EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
        else { preconditionFailure("OpenSSL does not agree on a secret of two keys on P-256") }
        return secret
    }
}

extension P256PrivateKey: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["point": publicKey.point]) }
}
