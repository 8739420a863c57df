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

    /// Reads `sha-256 AB:CD:...` in either case; nil if it is not that, or the length does not fit the algorithm.
    public init?(_ text: String) {
        let fields = text.text.fields()
        guard fields.count == 2 else { return nil }
        let algorithm = String(decoding: fields[0].utf8.map(\.lowercaseASCII), as: UTF8.self)
        let lengths = ["sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64]
        guard let length = lengths[algorithm] else { return nil }
        let pairs = fields[1].fields(separatedBy: UInt8(ascii: ":"), keepsEmpty: true)
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
