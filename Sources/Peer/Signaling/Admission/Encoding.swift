import SessionDescription

/// base64url without padding (RFC 4648 section 5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(buffer >> UInt32(bits)) & 63])
            }
        }
        if bits > 0 { text.append(alphabet[Int(buffer << UInt32(6 - bits)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns nil for a character outside the alphabet, an impossible length, or trailing bits that are not zero.
    /// Accepts padding, and `+` and `/` of the standard alphabet.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        var digits = Array(text.utf8)
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        guard digits.count % 4 != 1 else { return nil }
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            buffer = buffer << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        guard buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }

    static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit) + 4
        case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
        case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Formats and parses SHA-256 certificate fingerprints (RFC 8122 section 5).
public enum FingerprintText {
    /// Upper-case hexadecimal bytes with colons between them: `AB:CD:...`
    public static func colons(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let text = String(byte, radix: 16, uppercase: true)
            return byte < 16 ? "0" + text : text
        }.joined(separator: ":")
    }

    /// Returns 32 bytes from `sha-256 AB:CD:...`, `AB:CD:...`, 64 hexadecimal digits, or base64url; nil for anything
    /// else.
    public static func parse(_ text: some StringProtocol) -> [UInt8]? {
        var rest = Substring(text)
        if rest.lowercased().hasPrefix("sha-256 ") { rest = rest.dropFirst(8) }
        guard rest.utf8.count <= 128 else { return nil }
        let digits = rest.utf8.filter { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: " ") }
        if digits.count == 64 {
            var bytes: [UInt8] = []
            for index in stride(from: 0, to: 64, by: 2) {
                guard let high = hexadecimal(digits[index]), let low = hexadecimal(digits[index + 1]) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
        guard let bytes = Base64URL.decode(rest), bytes.count == 32 else { return nil }
        return bytes
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - 55
        default: nil
        }
    }

    /// Returns the SHA-256 fingerprint of the one certificate that an SDP names, as defined by
    /// ``CertificateFingerprints``. Returns nil if the SDP names none or several, or does not parse.
    public static func only(in description: String) -> [UInt8]? {
        guard let description = try? SessionDescription.parse(description) else { return nil }
        return (try? CertificateFingerprints(of: description))?.sha256.bytes
    }
}
