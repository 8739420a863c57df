internal import COpenSSL

/// A public key on the curve P-256 (FIPS 186-4), for ECDSA with SHA-256 and for ECDH.
// SAFETY: OpenSSL changes a key only where it is made; its uses from several threads are allowed then.
public final class P256PublicKey: @unchecked Sendable {
    /// Of an uncompressed point, in bytes.
    public static let length = 65
    /// Of a signature, in bytes.
    public static let signatureLength = 64

    /// The uncompressed point (SEC 1 section 2.3.3), 65 bytes.
    public let point: [UInt8]
    let key: OpaquePointer

    /// Takes over a key of OpenSSL; nil if it is of another kind.
    init?(owning key: OpaquePointer?) {
        guard let key else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = EVP_PKEY_is_a(key, "EC") == 1 ? EVP_PKEY_get1_encoded_public_key(key, &bytes) : 0
        defer { cssl_free(bytes) }
        guard let bytes, count == Self.length, bytes[0] == 4, isOnP256(key) else {
            EVP_PKEY_free(key)
            return nil
        }
        self.key = key
        point = Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// Nil unless `point` is an uncompressed point of the curve, 65 bytes.
    public convenience init?(point: [UInt8]) {
        guard point.count == Self.length, point[0] == 4 else { return nil }
        self.init(owning: OpenSSL.call { cssl_p256_public(point, point.count) })
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns whether the private key made `signature` over `bytes`: ECDSA with SHA-256.
    /// - Parameter signature: 64 bytes, r | s (IEEE P1363).
    public func isValid(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
        guard signature.count == Self.signatureLength else { return false }
        return OpenSSL.call {
            guard let der = ECDSASignature.der(signature), let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
                && EVP_DigestVerify(context, der, der.count, bytes, bytes.count) == 1
        }
    }
}

private func isOnP256(_ key: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 32)
    var count = 0
    return OpenSSL.call { EVP_PKEY_get_group_name(key, &name, name.count, &count) } == 1
        && name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar(bitPattern: $0) })
}

/// The two forms of an ECDSA signature: r | s with 32 bytes each, and the DER of RFC 3279 section 2.2.3.
enum ECDSASignature {
    static func der(_ raw: [UInt8]) -> [UInt8]? {
        guard let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let (r, s) = raw.withUnsafeBufferPointer {
            (BN_bin2bn($0.baseAddress, 32, nil), BN_bin2bn($0.baseAddress! + 32, 32, nil))
        }
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        return encoded { i2d_ECDSA_SIG(signature, $0) }
    }

    static func raw(_ der: [UInt8]) -> [UInt8]? {
        let signature = der.withUnsafeBufferPointer { der in
            var position = der.baseAddress
            return d2i_ECDSA_SIG(nil, &position, der.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var raw = [UInt8](repeating: 0, count: P256PublicKey.signatureLength)
        let isWritten = raw.withUnsafeMutableBufferPointer {
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), $0.baseAddress, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), $0.baseAddress! + 32, 32) == 32
        }
        return isWritten ? raw : nil
    }
}

/// What one of OpenSSL's functions `i2d_...` writes.
/// - Parameter write: calls it; without a pointer, it tells the length alone.
/// - Returns: nil if it fails.
func encoded(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
    let count = Int(write(nil))
    guard count > 0 else { return nil }
    var isWritten = false
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
        var position = buffer.baseAddress
        isWritten = Int(write(&position)) == count
        length = isWritten ? count : 0
    }
    return isWritten ? bytes : nil
}
