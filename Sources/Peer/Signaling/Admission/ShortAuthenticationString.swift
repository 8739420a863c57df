internal import Crypto

/// Four words that host and viewer both see, to be compared aloud.
///
/// Word i is number `d[2i] d[2i+1]` (big-endian) modulo 256 of the list, where d = SHA-256("share v1 words" | V | H | nonce).
/// The host chooses the nonce after V is fixed, so that nobody can search for a certificate whose words are another's.
public struct ShortAuthenticationString: Hashable, Sendable, CustomStringConvertible {
    /// Four words of the list.
    public let words: [String]
    public var description: String { words.joined(separator: " ") }

    /// - Parameters:
    ///   - viewer: fingerprint of the viewer's DTLS certificate, 32 bytes.
    ///   - host: fingerprint of the host's certificate, 32 bytes.
    ///   - nonce: the host's for this knock, 16 bytes.
    init(viewer: [UInt8], host: [UInt8], nonce: [UInt8]) {
        let digest = Array(SHA256.hash(data: Array("share v1 words".utf8) + viewer + host + nonce))
        words = (0..<4).map { index in
            let number = Int(digest[2 * index]) << 8 | Int(digest[2 * index + 1])
            return WordList.words[number % WordList.words.count]
        }
    }
}
