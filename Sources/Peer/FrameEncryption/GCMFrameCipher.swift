internal import Cryptography
public import SFrame

/// AES_128_GCM_SHA256_128 of SFrame (RFC 9605 section 4.5) by OpenSSL.
public struct GCMFrameCipher: SFrameCipher {
    private let cipher: AESGCM

    public init(key: [UInt8]) { cipher = AESGCM(key: key) }

    public static func extract(salt: [UInt8], _ secret: [UInt8]) -> [UInt8] { HKDF.extract(salt: salt, secret) }

    public static func expand(_ key: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        HKDF.expand(key, info: info, count: count)
    }

    public func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) {
        cipher.seal(plaintext, nonce: nonce, authenticating: data, to: &output)
    }

    public func open(
        _ sealed: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) -> Bool {
        cipher.open(sealed, nonce: nonce, authenticating: data, to: &output)
    }
}

/// Encrypts the frames of a broadcast for its viewers at a relay.
public typealias BroadcastSealer = FrameSealer<GCMFrameCipher>
/// Decrypts the frames that come over a relay.
public typealias BroadcastOpener = FrameOpener<GCMFrameCipher>
