internal import Crypto

/// Four words that host and viewer both see, made from the viewer's certificate, to be compared aloud.
///
/// Word i is number `d[2i] d[2i+1]` (big-endian) modulo 256 of the list, where d = SHA-256(fingerprint).
public struct FourWords: Hashable, Sendable, CustomStringConvertible {
    /// Four words of the list.
    public let words: [String]
    public var description: String { words.joined(separator: " ") }

    /// - Parameter fingerprint: the viewer's, SHA-256, 32 bytes.
    public init(fingerprint: [UInt8]) {
        let digest = Array(SHA256.hash(data: fingerprint))
        words = (0..<4).map { index in
            let number = Int(digest[2 * index]) << 8 | Int(digest[2 * index + 1])
            return WordList.words[number % WordList.words.count]
        }
    }
}
