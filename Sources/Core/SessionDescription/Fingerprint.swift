/// The hash of a certificate. RFC 8122 section 5.
public struct Fingerprint: Hashable, Sendable {
    /// In lower case, e.g. `sha-256`.
    public let algorithm: String
    /// 32 for `sha-256`.
    public let bytes: [UInt8]

    /// Nil unless there are 32 bytes.
    public init?(sha256 bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        algorithm = "sha-256"
        self.bytes = bytes
    }

    /// Bytes of the hash functions that are read.
    private static let lengths = ["sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64]

    /// The hash function's name in lower case, and what follows it.
    private static func split(_ text: String) -> (algorithm: String, rest: [Substring]) {
        let fields = text.text.fields()
        let algorithm = String(decoding: (fields.first ?? "").utf8.map(\.lowercaseASCII), as: UTF8.self)
        return (algorithm, Array(fields.dropFirst()))
    }

    static func isKnownFunction(in text: String) -> Bool { lengths[split(text).algorithm] != nil }

    /// Reads `sha-256 AB:CD:...` in either case; nil if it is not that, or the length does not fit the algorithm.
    public init?(_ text: String) {
        let (algorithm, rest) = Self.split(text)
        guard rest.count == 1, let length = Self.lengths[algorithm] else { return nil }
        let pairs = rest[0].fields(separatedBy: UInt8(ascii: ":"), keepsEmpty: true)
        guard pairs.count == length else { return nil }
        var bytes: [UInt8] = []
        for pair in pairs {
            let digits = Array(pair.utf8)
            guard digits.count == 2, let high = digits[0].hexValue, let low = digits[1].hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// As it stands in an `a=fingerprint` line: upper-case hexadecimal with colons.
    public var text: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var line = Array(algorithm.utf8) + [UInt8(ascii: " ")]
        for (index, byte) in bytes.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ":")) }
            line.append(digits[Int(byte >> 4)])
            line.append(digits[Int(byte & 15)])
        }
        return String(decoding: line, as: UTF8.self)
    }
}

/// Who starts DTLS. RFC 5763 section 5, RFC 8842.
public enum DTLSSetup: String, Hashable, Sendable {
    case active, passive, actpass, holdconn
}
