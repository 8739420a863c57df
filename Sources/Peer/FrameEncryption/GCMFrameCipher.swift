internal import Crypto
internal import FoundationEssentials
public import SFrame

/// AES_128_GCM_SHA256_128 of SFrame (RFC 9605 section 4.5) by swift-crypto.
public struct GCMFrameCipher: SFrameCipher {
    private let key: SymmetricKey

    public init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

    public static func extract(salt: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        Array(HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: secret), salt: salt))
    }

    public static func expand(_ key: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        HKDF<SHA256>.expand(pseudoRandomKey: key, info: info, outputByteCount: count).withUnsafeBytes { Array($0) }
    }

    public func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) {
        // It fails for a nonce of less than 12 bytes alone.
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let sealed = try? AES.GCM.seal(plaintext, using: key, nonce: nonce, authenticating: data)
        else { preconditionFailure("AES-GCM does not encrypt") }
        output += sealed.ciphertext
        output += sealed.tag
    }

    public func open(
        _ sealed: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) -> Bool {
        guard sealed.count >= SFrameSuite.tagLength, let nonce = try? AES.GCM.Nonce(data: nonce) else { return false }
        let tag = sealed.count - SFrameSuite.tagLength
        guard
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: UnsafeRawBufferPointer(rebasing: sealed[..<tag]),
                tag: UnsafeRawBufferPointer(rebasing: sealed[tag...])),
            let plaintext = try? AES.GCM.open(box, using: key, authenticating: data)
        else { return false }
        output += plaintext
        return true
    }
}

/// Encrypts the frames of a broadcast for its viewers at a relay.
public typealias BroadcastSealer = FrameSealer<GCMFrameCipher>
/// Decrypts the frames that come over a relay.
public typealias BroadcastOpener = FrameOpener<GCMFrameCipher>
