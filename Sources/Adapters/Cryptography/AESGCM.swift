internal import COpenSSL

/// Authenticated encryption by AES-GCM (NIST SP 800-38D) with nonces of 12 bytes and tags of 16.
public struct AESGCM: Sendable {
    public static let nonceLength = 12
    public static let tagLength = 16

    private let key: [UInt8]

    /// - Parameter key: 16 or 32 bytes.
    public init(key: [UInt8]) {
        precondition(key.count == 16 || key.count == 32)
        self.key = key
    }

    /// Appends the ciphertext and the tag to `output`.
    /// - Parameters:
    ///   - nonce: 12 bytes, new for each message under this key.
    ///   - data: is authenticated and not encrypted.
    public func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8] = [],
        to output: inout [UInt8]
    ) {
        precondition(
            nonce.count == Self.nonceLength && plaintext.count <= Int(Int32.max) && data.count <= Int(Int32.max))
        let begin = output.count
        output.reserveCapacity(begin + plaintext.count + Self.tagLength)
        output += plaintext
        output += [UInt8](repeating: 0, count: Self.tagLength)
        let isSealed = withContext { context in
            output.withUnsafeMutableBufferPointer { output in
                EVP_EncryptInit_ex(context, algorithm, nil, key, nil) == 1
                    && cssl_gcm_seal(
                        context, nonce, data, Int32(data.count), output.baseAddress! + begin,
                        Int32(plaintext.count)) == 1
            }
        }
        precondition(isSealed, "this machine's OpenSSL has no AES-GCM")
    }

    /// Appends the plaintext to `output`.
    /// - Parameter sealed: ciphertext and tag.
    /// - Returns: false if it was not sealed with this key, nonce and data; `output` is as before then.
    public func open(
        _ sealed: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8] = [],
        to output: inout [UInt8]
    ) -> Bool {
        let length = sealed.count - Self.tagLength
        guard nonce.count == Self.nonceLength, length >= 0, max(sealed.count, data.count) <= Int(Int32.max) else {
            return false
        }
        var tag = Array(sealed[length...])
        let begin = output.count
        output += sealed[..<length]
        let isOpened = withContext { context in
            output.withUnsafeMutableBufferPointer { output in
                var count: Int32 = 0
                let bytes = output.baseAddress.map { $0 + begin }
                return EVP_DecryptInit_ex(context, algorithm, nil, key, nonce) == 1
                    && EVP_DecryptUpdate(context, nil, &count, data, Int32(data.count)) == 1
                    && (length == 0 || EVP_DecryptUpdate(context, bytes, &count, bytes, Int32(length)) == 1)
                    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
                    && EVP_DecryptFinal_ex(context, &tag, &count) == 1
            }
        }
        if !isOpened { output.removeLast(length) }
        return isOpened
    }

    private var algorithm: OpaquePointer? { key.count == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm() }

    private func withContext(_ body: (OpaquePointer) -> Bool) -> Bool {
        OpenSSL.call {
            guard let context = EVP_CIPHER_CTX_new() else { return false }
            defer { EVP_CIPHER_CTX_free(context) }
            return body(context)
        }
    }
}

extension AESGCM {
    /// - Returns: a random nonce (12 bytes), the ciphertext and the tag.
    public func sealWithNonce(_ plaintext: [UInt8]) -> [UInt8] {
        var nonce = [UInt8](repeating: 0, count: Self.nonceLength)
        let isMade = OpenSSL.call { RAND_bytes(&nonce, Int32(nonce.count)) == 1 }
        precondition(isMade, "this machine's OpenSSL has no random numbers")
        var output = nonce
        plaintext.withUnsafeBytes { seal($0, nonce: nonce, to: &output) }
        return output
    }

    /// - Parameter bytes: of `sealWithNonce`.
    /// - Returns: nil if they were not sealed with this key.
    public func openWithNonce(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= Self.nonceLength + Self.tagLength else { return nil }
        var output: [UInt8] = []
        let isOpened = bytes.withUnsafeBytes {
            open(
                UnsafeRawBufferPointer(rebasing: $0[Self.nonceLength...]), nonce: Array(bytes.prefix(Self.nonceLength)),
                to: &output)
        }
        return isOpened ? output : nil
    }
}

extension AESGCM: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
