internal import COpenSSL

/// A hash by SHA-256 (FIPS 180-4).
///
/// Two of them are compared as a whole, so the time says nothing about where they differ.
public struct SHA256Hash: Hashable, Sendable {
    /// Of a hash, in bytes.
    public static let length = 32

    // No SIMD4, whose alignment of 32 bytes a result of an async function may not have (pitfalls.md).
    private let words: (UInt64, UInt64, UInt64, UInt64)

    public init(of bytes: [UInt8]) {
        var hash = [UInt8](repeating: 0, count: Self.length)
        let isMade = OpenSSL.call { EVP_Digest(bytes, bytes.count, &hash, nil, EVP_sha256(), nil) == 1 }
        precondition(isMade, "this machine's OpenSSL has no SHA-256")
        words = hash.withUnsafeBytes { bytes in
            func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
            return (word(0), word(1), word(2), word(3))
        }
    }

    /// 32 bytes.
    public var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

    public static func == (one: Self, other: Self) -> Bool {
        let (a, b) = (one.words, other.words)
        return (a.0 ^ b.0) | (a.1 ^ b.1) | (a.2 ^ b.2) | (a.3 ^ b.3) == 0
    }

    /// 64 bits of a hash tell hashes apart.
    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

extension SHA256Hash: CustomStringConvertible {
    /// The first bytes of the hash in hexadecimal.
    public var description: String {
        "SHA256Hash(" + bytes.prefix(4).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + ")"
    }
}

/// The hashes that old protocols ask for. They protect nothing here by themselves.
public enum LegacyDigest: Sendable {
    /// The keys of TURN's long-term credentials (RFC 8489 section 9.2.2).
    case md5
    /// The key of a WebSocket's handshake (RFC 6455 section 4.2.2).
    case sha1

    /// Empty if this machine's OpenSSL refuses the algorithm, as one that is restricted to FIPS 140 does: what is made
    /// with it is not accepted then.
    public func hash(of bytes: [UInt8]) -> [UInt8] {
        let algorithm = self == .md5 ? EVP_md5() : EVP_sha1()
        var hash = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        let isMade = OpenSSL.call { EVP_Digest(bytes, bytes.count, &hash, &count, algorithm, nil) == 1 }
        return isMade ? Array(hash.prefix(Int(count))) : []
    }
}
