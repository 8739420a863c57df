internal import COpenSSL
internal import CSRTP

/// AES-GCM by OpenSSL as a replacement for libsrtp2's cipher. Debian's libsrtp2 uses NSS, which creates a context with
/// five allocations for each packet; here one context lives as long as its key.
///
/// The rest of RFC 3711 and RFC 7714 (packet index, replay window, key derivation, IV) stays in libsrtp2. For each
/// packet it calls `setIV`, `authenticate` (twice for SRTCP), then `encrypt` and `getTag`, or `decrypt`, on the
/// session's thread.
enum GCMCipher {
    /// Replaces both GCM ciphers. libsrtp2 first tests each with the vector given here, with its own vectors, and with
    /// 128 random messages.
    static func install() -> srtp_err_status_t {
        for type in [aes128, aes256] {
            let status = srtp_replace_cipher_type(type, type.pointee.id)
            guard status == srtp_err_status_ok else { return status }
        }
        return srtp_err_status_ok
    }

    private static let saltLength: Int32 = 12

    /// A cipher's state between calls.
    private struct State {
        let context: OpaquePointer
        let tagLength: Int
    }

    private typealias Cipher = UnsafeMutablePointer<srtp_cipher_t>

    // MARK: Cipher types

    // SAFETY: libsrtp2 holds these pointers until the process ends; they are never freed.
    nonisolated(unsafe) private static let aes128 = type(
        SRTP_AES_GCM_128, "AES-128 GCM of OpenSSL", key: 16,
        sealed: """
            f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833\
            899d7f27beb16a9152cf765ee4390cce
            """)
    nonisolated(unsafe) private static let aes256 = type(
        SRTP_AES_GCM_256, "AES-256 GCM of OpenSSL", key: 32,
        sealed: """
            32b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f1ba63799b87b\
            7aa3db36dfffd6b0f9bb7878d7a76c13
            """)

    private static func type(
        _ id: Int32, _ description: StaticString, key: Int, sealed: String
    ) -> UnsafeMutablePointer<srtp_cipher_type_t> {
        let type = UnsafeMutablePointer<srtp_cipher_type_t>.allocate(capacity: 1)
        type.initialize(
            to: srtp_cipher_type_t(
                alloc: { GCMCipher.make($0, keyLength: $1, tagLength: $2) },
                dealloc: { GCMCipher.free($0) },
                init: { GCMCipher.setKey($0, $1) },
                set_aad: { GCMCipher.authenticate($0, $1, $2) },
                encrypt: { GCMCipher.encrypt($0, $1, $2) },
                decrypt: { GCMCipher.decrypt($0, $1, $2) },
                set_iv: { GCMCipher.setIV($0, $1, $2) },
                get_tag: { GCMCipher.getTag($0, $1, $2) },
                description: UnsafeRawPointer(description.utf8Start).assumingMemoryBound(to: CChar.self),
                test_data: vector(key: key, sealed: sealed), id: srtp_cipher_type_id_t(id)))
        return type
    }

    /// The test vector of RFC 7714 sections 16.1.1 and 16.2.1, with the key 00 01 02 ...
    private static func vector(key: Int, sealed: String) -> UnsafePointer<srtp_cipher_test_case_t> {
        let packet = kept("47616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573")
        let header = kept("8040f17b8041f8d35501a0b2")
        let sealed = kept(sealed)
        let vector = UnsafeMutablePointer<srtp_cipher_test_case_t>.allocate(capacity: 1)
        vector.initialize(
            to: srtp_cipher_test_case_t(
                key_length_octets: Int32(key) + saltLength,
                key: UnsafePointer(kept((0..<UInt8(key)) + [UInt8](repeating: 0, count: Int(saltLength))).baseAddress),
                idx: kept("51753c6580c2726f20718414").baseAddress,
                plaintext_length_octets: UInt32(packet.count), plaintext: UnsafePointer(packet.baseAddress),
                ciphertext_length_octets: UInt32(sealed.count), ciphertext: UnsafePointer(sealed.baseAddress),
                aad_length_octets: Int32(header.count), aad: UnsafePointer(header.baseAddress),
                tag_length_octets: Int32(sealed.count - packet.count), next_test_case: nil))
        return UnsafePointer(vector)
    }

    private static func kept(_ hexadecimal: String) -> UnsafeMutableBufferPointer<UInt8> {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        return kept(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    private static func kept(_ bytes: [UInt8]) -> UnsafeMutableBufferPointer<UInt8> {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        return copy
    }

    // MARK: Allocation and keys

    private static func make(
        _ place: UnsafeMutablePointer<Cipher?>?, keyLength: Int32, tagLength: Int32
    ) -> srtp_err_status_t {
        let is128 = keyLength == 16 + saltLength
        guard is128 || keyLength == 32 + saltLength, tagLength == 16 || tagLength == 8 else {
            return srtp_err_status_bad_param
        }
        guard let place, let context = EVP_CIPHER_CTX_new() else { return srtp_err_status_alloc_fail }
        guard EVP_CipherInit_ex(context, is128 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), nil, nil, nil, 1) == 1 else {
            EVP_CIPHER_CTX_free(context)
            return srtp_err_status_init_fail
        }
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State(context: context, tagLength: Int(tagLength)))
        let cipher = Cipher.allocate(capacity: 1)
        cipher.initialize(
            to: srtp_cipher_t(
                type: UnsafePointer(is128 ? aes128 : aes256), state: state, key_len: keyLength,
                algorithm: is128 ? SRTP_AES_GCM_128 : SRTP_AES_GCM_256))
        place.pointee = cipher
        return srtp_err_status_ok
    }

    private static func free(_ cipher: Cipher?) -> srtp_err_status_t {
        guard let cipher else { return srtp_err_status_bad_param }
        if let state = cipher.pointee.state?.assumingMemoryBound(to: State.self) {
            EVP_CIPHER_CTX_free(state.pointee.context)
            state.deallocate()
        }
        cipher.deallocate()
        return srtp_err_status_ok
    }

    private static func context(_ state: UnsafeMutableRawPointer?) -> OpaquePointer? {
        state?.assumingMemoryBound(to: State.self).pointee.context
    }

    private static func status(_ code: Int32) -> srtp_err_status_t {
        code == 1 ? srtp_err_status_ok : srtp_err_status_cipher_fail
    }

    /// - Parameter key: of the type's key length, followed by the salt, which libsrtp2 handles.
    private static func setKey(_ state: UnsafeMutableRawPointer?, _ key: UnsafePointer<UInt8>?) -> srtp_err_status_t {
        status(EVP_CipherInit_ex(context(state), nil, nil, key, nil, -1))
    }

    // MARK: Packets

    private static func setIV(
        _ state: UnsafeMutableRawPointer?, _ iv: UnsafeMutablePointer<UInt8>?, _ direction: srtp_cipher_direction_t
    ) -> srtp_err_status_t {
        let encrypts: Int32 = direction == srtp_direction_encrypt ? 1 : 0
        return status(EVP_CipherInit_ex(context(state), nil, nil, nil, iv, encrypts))
    }

    private static func authenticate(
        _ state: UnsafeMutableRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ length: UInt32
    ) -> srtp_err_status_t {
        update(state, into: nil, bytes, Int(length))
    }

    private static func encrypt(
        _ state: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<UInt8>?,
        _ length: UnsafeMutablePointer<UInt32>?
    ) -> srtp_err_status_t {
        guard let length else { return srtp_err_status_bad_param }
        return update(state, into: bytes, bytes, Int(length.pointee))
    }

    private static func getTag(
        _ state: UnsafeMutableRawPointer?, _ tag: UnsafeMutablePointer<UInt8>?, _ length: UnsafeMutablePointer<UInt32>?
    ) -> srtp_err_status_t {
        guard let state = state?.assumingMemoryBound(to: State.self).pointee, let tag, let length else {
            return srtp_err_status_bad_param
        }
        var none: Int32 = 0
        guard EVP_CipherFinal_ex(state.context, tag, &none) == 1,
            EVP_CIPHER_CTX_ctrl(state.context, EVP_CTRL_AEAD_GET_TAG, Int32(state.tagLength), tag) == 1
        else { return srtp_err_status_cipher_fail }
        length.pointee = UInt32(state.tagLength)
        return srtp_err_status_ok
    }

    /// - Parameter length: on entry the ciphertext with the tag behind it, in bytes; on return the plaintext.
    private static func decrypt(
        _ state: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<UInt8>?,
        _ length: UnsafeMutablePointer<UInt32>?
    ) -> srtp_err_status_t {
        guard let kept = state?.assumingMemoryBound(to: State.self).pointee, let bytes, let length,
            Int(length.pointee) >= kept.tagLength
        else { return srtp_err_status_bad_param }
        let count = Int(length.pointee) - kept.tagLength
        let tag = bytes + count
        guard EVP_CIPHER_CTX_ctrl(kept.context, EVP_CTRL_AEAD_SET_TAG, Int32(kept.tagLength), tag) == 1,
            update(state, into: bytes, bytes, count) == srtp_err_status_ok
        else { return srtp_err_status_cipher_fail }
        var none: Int32 = 0
        // A wrong tag is reported here. OpenSSL leaves no entry in its error queue for it.
        guard EVP_CipherFinal_ex(kept.context, tag, &none) == 1 else { return srtp_err_status_auth_fail }
        length.pointee = UInt32(count)
        return srtp_err_status_ok
    }

    /// Encrypts or decrypts in place; authenticates only if `output` is nil. `length` is at most that of a datagram.
    private static func update(
        _ state: UnsafeMutableRawPointer?, into output: UnsafeMutablePointer<UInt8>?, _ input: UnsafePointer<UInt8>?,
        _ length: Int
    ) -> srtp_err_status_t {
        guard length > 0 else { return srtp_err_status_ok }
        var written: Int32 = 0
        return status(EVP_CipherUpdate(context(state), output, &written, input, Int32(length)))
    }
}
