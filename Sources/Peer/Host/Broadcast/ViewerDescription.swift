/// A viewer or a knocking client, as it is shown to people.
public struct ViewerDescription: Sendable, Equatable {
    public var name: String
    /// "browser", "share", ...
    public var kind: String
    public var address: String
    /// The four words of the viewer's knock, which it shows too; empty for a player with the fixed token.
    public var words: String
    /// The viewer says that it records.
    public var records: Bool
    /// It is no viewer, but a service or relay to which this host publishes.
    package var isPublication = false

    public init(name: String, kind: String, address: String, words: String, records: Bool = false) {
        self.name = name
        self.kind = kind
        self.address = address
        self.words = words
        self.records = records
    }
}
