/// A viewer or a knocking client, as it is shown to people.
public struct ViewerDescription: Sendable, Equatable {
    public var name: String
    /// "browser", "share", ...
    public var kind: String
    public var address: String
    /// The four words of the viewer's knock, which it shows too; empty for a player with the fixed token.
    public var words: String

    public init(name: String, kind: String, address: String, words: String) {
        self.name = name
        self.kind = kind
        self.address = address
        self.words = words
    }
}
