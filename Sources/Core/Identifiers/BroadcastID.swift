/// The public identifier of a broadcast: 64 random bits, written as 13 characters of Crockford's base32, most
/// significant bits first.
public struct BroadcastID: Hashable, Sendable, CustomStringConvertible {
    /// Upper case, 13 characters.
    public let text: String
    public var description: String { text }

    package static let length = 13
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    public init(_ value: UInt64) {
        text = String(
            decoding: (0..<Self.length).reversed().map {
                Self.alphabet[Int(truncatingIfNeeded: value >> (5 * UInt64($0))) & 31]
            },
            as: UTF8.self)
    }

    /// Parses 13 characters of Crockford's base32. Accepts lower case, O for 0, and I and L for 1. Returns nil for
    /// other characters, another length, or a value over 64 bits.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.length else { return nil }
        var value: UInt64 = 0
        for (index, digit) in text.utf8.enumerated() {
            guard let bits = Self.value(of: digit), index > 0 || bits < 16 else { return nil }
            value = value << 5 | UInt64(bits)
        }
        self.init(value)
    }

    package static func value(of digit: UInt8) -> Int? {
        let upper = (97...122).contains(digit) ? digit - 32 : digit
        switch upper {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return alphabet.firstIndex(of: upper)
        }
    }
}
