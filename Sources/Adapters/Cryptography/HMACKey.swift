internal import COpenSSL

/// A key for message authentication codes by HMAC (RFC 2104).
public struct HMACKey: Sendable {
    public enum Algorithm: Sendable {
        /// For what old protocols ask for: TURN (RFC 8489 section 14.5).
        case sha1
        case sha256
    }

    private let key: [UInt8]
    private let algorithm: Algorithm

    public init(_ key: [UInt8], _ algorithm: Algorithm = .sha256) {
        self.key = key
        self.algorithm = algorithm
    }

    /// - Returns: 32 bytes; with SHA-1 20, or none if this machine's OpenSSL refuses it.
    public func code(for message: [UInt8]) -> [UInt8] {
        precondition(key.count <= Int(Int32.max))
        let digest = algorithm == .sha1 ? EVP_sha1() : EVP_sha256()
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        let isMade = OpenSSL.call {
            HMAC(digest, key, Int32(key.count), message, message.count, &code, &count) != nil
        }
        precondition(isMade || algorithm == .sha1, "this machine's OpenSSL has no HMAC")
        return isMade ? Array(code.prefix(Int(count))) : []
    }

    /// Compares in constant time.
    public func isValid(_ code: [UInt8], for message: [UInt8]) -> Bool {
        let expected = self.code(for: message)
        return !expected.isEmpty && code.count == expected.count && CRYPTO_memcmp(code, expected, code.count) == 0
    }
}

extension HMACKey: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// HKDF with SHA-256 (RFC 5869).
public enum HKDF {
    /// - Returns: a pseudorandom key, 32 bytes.
    public static func extract(salt: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        // An empty salt is one of zeros (section 2.2).
        HMACKey(salt.isEmpty ? [UInt8](repeating: 0, count: SHA256Hash.length) : salt).code(for: secret)
    }

    /// - Parameters:
    ///   - key: a pseudorandom key, at least 32 bytes.
    ///   - count: bytes of the result, at most 255 x 32.
    public static func expand(_ key: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        precondition(count <= 255 * SHA256Hash.length)
        let key = HMACKey(key)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while output.count < count {
            number += 1
            block = key.code(for: block + info + [number])
            output += block
        }
        return Array(output.prefix(count))
    }

    /// Extracts and expands.
    public static func derive(_ secret: [UInt8], salt: [UInt8] = [], info: [UInt8], count: Int) -> [UInt8] {
        expand(extract(salt: salt, secret), info: info, count: count)
    }
}
