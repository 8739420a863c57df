/// Parsing of SDP text by its bytes: hostile Unicode costs nothing, and `\r\n` is two bytes, not one character.
extension Substring {
    /// Returns the parts between single bytes; empty parts are left out by default.
    func fields(
        separatedBy byte: UInt8 = UInt8(ascii: " "), limit: Int = .max, keepsEmpty: Bool = false
    ) -> [Substring] {
        utf8.split(separator: byte, maxSplits: limit, omittingEmptySubsequences: !keepsEmpty).map { Substring($0) }
    }

    /// Returns the text before and after the first such byte; nil after if there is none.
    func cut(at byte: UInt8) -> (head: Substring, tail: Substring?) {
        guard let index = utf8.firstIndex(of: byte) else { return (self, nil) }
        return (self[..<index], self[utf8.index(after: index)...])
    }

    /// Returns a number of decimal digits only, up to a bound.
    func decimal(upTo bound: UInt64) -> UInt64? {
        guard !isEmpty, utf8.count <= 20 else { return nil }
        var value: UInt64 = 0
        for byte in utf8 {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (scaled, scaledOver) = value.multipliedReportingOverflow(by: 10)
            let (sum, sumOver) = scaled.addingReportingOverflow(UInt64(byte &- 0x30))
            guard !scaledOver, !sumOver else { return nil }
            value = sum
        }
        return value <= bound ? value : nil
    }

    /// The text without spaces and tabs at either end.
    var trimmed: Substring {
        var view = utf8[...]
        while let byte = view.first, byte == 0x20 || byte == 0x09 { view = view.dropFirst() }
        while let byte = view.last, byte == 0x20 || byte == 0x09 { view = view.dropLast() }
        return Substring(view)
    }

    /// Whether every byte is one of `ice-char`: letters, digits, `+`, `/`. RFC 8839 section 5.1.
    var isICECharacters: Bool {
        utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F: true
            default: false
            }
        }
    }

    /// Whether every byte is a visible ASCII character: no space, no control character.
    var isVisibleASCII: Bool { utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }

    func equalsIgnoringCase(_ other: String) -> Bool {
        utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.lowercaseASCII == $1.lowercaseASCII }
    }
}

extension String {
    /// The whole text as a `Substring`, to use the methods above.
    var text: Substring { self[...] }

    /// The text as one field of a written line: anything but visible ASCII is replaced by `_`.
    var asToken: String {
        guard !isEmpty else { return "-" }
        return text.isVisibleASCII
            ? self : String(decoding: utf8.map { $0 > 0x20 && $0 < 0x7F ? $0 : 0x5F }, as: UTF8.self)
    }
}

extension UInt8 {
    var lowercaseASCII: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self &- 0x30
        case 0x41...0x46: self &- 0x41 &+ 10
        case 0x61...0x66: self &- 0x61 &+ 10
        default: nil
        }
    }
}
