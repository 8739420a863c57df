/// What the host's fixed token has to be: long enough that trying finds none, and fit for an `Authorization` header.
public enum FixedToken {
    /// Characters.
    public static let length = 16...512

    public enum Flaw: Error, Sendable, Equatable, CustomStringConvertible {
        case tooShort
        case tooLong
        /// A blank, or something outside of visible ASCII.
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

    /// Nil if it can be used.
    public static func flaw(of token: String) -> Flaw? {
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return .unprintable }
        if token.utf8.count < length.lowerBound { return .tooShort }
        return token.utf8.count > length.upperBound ? .tooLong : nil
    }
}
