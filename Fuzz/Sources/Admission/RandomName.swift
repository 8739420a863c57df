/// An identifier of 128 random bits, known only to those who were told it.
public struct RandomName: Hashable, Sendable, CustomStringConvertible {
    /// 22 characters of base64url.
    public let text: String
    /// The first four characters: enough for logs, of no use to an attacker.
    public var description: String { text.prefix(4) + "..." }

    public static func random() -> RandomName { RandomName(text: Base64URL.encode(randomBytes(16))) }

    private init(text: String) { self.text = text }

    /// Returns nil unless `text` is 22 characters of base64url.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 22, text.utf8.allSatisfy({ Base64URL.value(of: $0) != nil }) else { return nil }
        self.text = String(text)
    }
}

package func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}

public typealias KnockID = RandomName
public typealias SessionID = RandomName
/// Identifies one run of a viewer's program, which chooses it.
public typealias ClientInstanceID = RandomName
