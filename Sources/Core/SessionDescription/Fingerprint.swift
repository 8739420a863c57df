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

    /// Parses SHA-256 as it is written outside of descriptions: like an `a=fingerprint` line with or without the
    /// function's name, or as 64 digits without colons. Nil for anything else.
    public init?(sha256Text text: some StringProtocol) {
        let text = String(text)
        if text.utf8.count == 64, let bytes = Self.bytes(text.text) {
            self.init(sha256: bytes)
        } else if text.utf8.contains(UInt8(ascii: " ")) {
            self.init(text)
            guard algorithm == "sha-256" else { return nil }
        } else {
            self.init("sha-256 " + text)
        }
    }

    /// `AB:CD:...`
    public static func colons(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 3)
        for byte in bytes {
            if !text.isEmpty { text.append(UInt8(ascii: ":")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of an even number of hexadecimal digits in either case.
    private static func bytes(_ digits: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = digits.utf8[...]
        while let first = rest.popFirst() {
            guard let high = first.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The lengths of the supported hash functions in bytes.
    private static let lengths = ["sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64]

    /// Returns the hash function's name in lower case, and the fields after it.
    private static func split(_ text: String) -> (algorithm: String, rest: [Substring]) {
        let fields = text.text.fields()
        let algorithm = String(decoding: (fields.first ?? "").utf8.map(\.lowercaseASCII), as: UTF8.self)
        return (algorithm, Array(fields.dropFirst()))
    }

    static func isKnownFunction(in text: String) -> Bool { lengths[split(text).algorithm] != nil }

    /// Parses `sha-256 AB:CD:...` in either case; nil if it is malformed, or the length does not fit the algorithm.
    public init?(_ text: String) {
        let (algorithm, rest) = Self.split(text)
        guard rest.count == 1, let length = Self.lengths[algorithm] else { return nil }
        let pairs = rest[0].fields(separatedBy: UInt8(ascii: ":"), keepsEmpty: true)
        guard pairs.count == length else { return nil }
        var bytes: [UInt8] = []
        for pair in pairs {
            guard pair.utf8.count == 2, let value = Self.bytes(pair) else { return nil }
            bytes += value
        }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// The value of an `a=fingerprint` line: upper-case hexadecimal with colons.
    public var text: String { "\(algorithm) \(Self.colons(bytes))" }
}

/// The DTLS role in `a=setup`. RFC 5763 section 5, RFC 8842.
public enum DTLSSetup: String, Hashable, Sendable {
    case active, passive, actpass, holdconn

    /// The role of the side that answers, or that has got the answer: RFC 5763 section 5. The host is the server unless
    /// the other side is.
    public var counterpart: DTLSSetup { self == .passive ? .active : .passive }
}
