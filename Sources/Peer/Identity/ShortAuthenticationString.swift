internal import Cryptography

/// Four words that host and viewer both show, so that the two people can compare them aloud (a short authentication
/// string, as in ZRTP, RFC 6189).
///
/// Word i is entry `d[2i] d[2i+1]` (big-endian) modulo 256 of the word list, where d = SHA-256("share v1 words" | V | H
/// | nonce). The host chooses the nonce after V is fixed, so nobody can search for a certificate that gives the same
/// words. Of a knock of version 2, d = SHA-256("share v2 words" | the hash of its transcript).
public struct ShortAuthenticationString: Hashable, Sendable, CustomStringConvertible {
    /// Four entries of the word list.
    public let words: [String]
    public var description: String { words.joined(separator: " ") }

    /// Nil unless these are four words of the list.
    package init?(words: [String]) {
        guard words.count == 4, words.allSatisfy({ WordList.words.contains($0) }) else { return nil }
        self.words = words
    }

    /// - Parameters:
    ///   - viewer: fingerprint of the viewer's DTLS certificate, 32 bytes.
    ///   - host: fingerprint of the host's certificate, 32 bytes.
    ///   - nonce: chosen by the host for this knock, 16 bytes.
    package init(viewer: [UInt8], host: [UInt8], nonce: [UInt8]) {
        self.init(digestOf: Array("share v1 words".utf8) + viewer + host + nonce)
    }

    /// - Parameter transcript: the hash of all that both sides have said, 32 bytes.
    package init(transcript: [UInt8]) { self.init(digestOf: Array("share v2 words".utf8) + transcript) }

    private init(digestOf bytes: [UInt8]) {
        let digest = SHA256Hash(of: bytes).bytes
        words = (0..<4).map { index in
            let number = Int(digest[2 * index]) << 8 | Int(digest[2 * index + 1])
            return WordList.words[number % WordList.words.count]
        }
    }
}
