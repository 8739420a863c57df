/// The requirements for the host's fixed token: too long to be guessed, and valid in an `Authorization` header.
public enum FixedToken {
    /// The allowed lengths, in characters.
    public static let length = 16...512

    public enum Flaw: Error, Sendable, Equatable, CustomStringConvertible {
        case tooShort
        case tooLong
        /// It contains a blank, or a character outside visible ASCII.
        case unprintable

        public var description: String {
            switch self {
            case .tooShort: "has fewer than \(FixedToken.length.lowerBound) characters"
            case .tooLong: "has more than \(FixedToken.length.upperBound) characters"
            case .unprintable:
                "has a character that no HTTP header can carry: use visible ASCII characters without blanks"
            }
        }
    }

    /// Returns what is wrong with `token`; nil if it is usable.
    public static func flaw(of token: String) -> Flaw? {
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return .unprintable }
        if token.utf8.count < length.lowerBound { return .tooShort }
        return token.utf8.count > length.upperBound ? .tooLong : nil
    }
}
