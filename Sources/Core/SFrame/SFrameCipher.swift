/// The cryptography of the cipher suite AES_128_GCM_SHA256_128 (RFC 9605 section 4.5), which is handed in.
public protocol SFrameCipher: Sendable {
    /// HKDF-Extract with SHA-256 (RFC 5869 section 2.2).
    static func extract(salt: [UInt8], _ secret: [UInt8]) -> [UInt8]
    /// HKDF-Expand with SHA-256 (RFC 5869 section 2.3).
    static func expand(_ key: [UInt8], info: [UInt8], count: Int) -> [UInt8]

    /// - Parameter key: ``SFrameSuite/keyLength`` bytes.
    init(key: [UInt8])

    /// Encrypts, and appends the ciphertext and its tag to `output`.
    func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8])
    /// Decrypts a ciphertext with its tag, and appends the plaintext to `output`.
    /// - Returns: false if the tag is wrong; `output` is as before then.
    func open(
        _ sealed: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) -> Bool
}

/// AES_128_GCM_SHA256_128 (RFC 9605 section 4.5). Lengths are in bytes.
public enum SFrameSuite {
    public static let identifier: UInt16 = 4
    public static let keyLength = 16
    public static let nonceLength = 12
    public static let tagLength = 16
    /// That of SHA-256.
    public static let hashLength = 32
}

/// A key of SFrame with its salt, derived from a base key (RFC 9605 section 4.4.2).
struct SFrameKey<Cipher: SFrameCipher>: Sendable {
    let keyID: UInt64
    let cipher: Cipher
    private let salt: [UInt8]

    init(baseKey: [UInt8], keyID: UInt64) {
        let secret = Cipher.extract(salt: [], baseKey)
        let suffix = keyID.bigEndianBytes + SFrameSuite.identifier.bigEndianBytes
        func expand(_ label: String, _ count: Int) -> [UInt8] {
            Cipher.expand(secret, info: Array(label.utf8) + suffix, count: count)
        }
        self.keyID = keyID
        cipher = Cipher(key: expand("SFrame 1.0 Secret key ", SFrameSuite.keyLength))
        salt = expand("SFrame 1.0 Secret salt ", SFrameSuite.nonceLength)
    }

    /// The salt XOR the counter (RFC 9605 section 4.4.3).
    func nonce(_ counter: UInt64) -> [UInt8] {
        var nonce = salt
        for (index, byte) in counter.bigEndianBytes.enumerated() { nonce[nonce.count - 8 + index] ^= byte }
        return nonce
    }

    /// Appends header, ciphertext and tag (RFC 9605 section 4.4.3).
    func seal(
        _ plaintext: UnsafeRawBufferPointer, counter: UInt64, metadata: UnsafeRawBufferPointer,
        to output: inout [UInt8]
    ) {
        let header = SFrameHeader(keyID: keyID, counter: counter).bytes
        output += header
        cipher.seal(plaintext, nonce: nonce(counter), authenticating: header + metadata, to: &output)
    }
}

/// The base keys of a track, each derived from the one before (RFC 9605 section 5.1).
struct SFrameRatchet<Cipher: SFrameCipher>: Sendable {
    private(set) var step: UInt32
    private(set) var baseKey: [UInt8]

    init(step: UInt32, baseKey: [UInt8]) { (self.step, self.baseKey) = (step, baseKey) }

    mutating func advance() {
        baseKey = Cipher.expand(
            Cipher.extract(salt: [], baseKey), info: Array("SFrame 1.0 Ratchet".utf8), count: SFrameSuite.hashLength)
        step &+= 1
    }
}
