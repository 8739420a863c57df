/// An identifier of 128 random bits, known only to those who were told it.
public struct RandomName: Hashable, Sendable, CustomStringConvertible {
    /// 22 characters of base64url.
    public let text: String
    /// The first four characters: enough for logs, of no use to an attacker.
    public var description: String { text.prefix(4) + "..." }

    /// - Parameter bytes: 16 random bytes.
    package init(bytes: [UInt8]) { text = Base64URL.encode(bytes) }

    /// Returns nil unless `text` is 22 characters of base64url.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 22, text.utf8.allSatisfy({ Base64URL.value(of: $0) != nil }) else { return nil }
        self.text = String(text)
    }
}

public typealias KnockID = RandomName
public typealias SessionID = RandomName
/// Identifies one run of a viewer's program, which chooses it.
public typealias ClientInstanceID = RandomName
