/// Who watches a broadcast, as its host lets its viewers know.
public struct WatchingNames: Sendable, Equatable, Codable {
    /// More are only counted.
    public static let limit = 50

    /// In the order in which they came; names are not unique.
    public let names: [String]
    /// With those whose names are left out.
    public let count: Int

    /// - Parameter names: are cleaned.
    public init(_ names: [String], count: Int? = nil) {
        self.names = names.prefix(Self.limit).map { UntrustedText.clean($0, fallback: "a viewer") }
        self.count = min(max(count ?? names.count, self.names.count), Int(Int32.max))
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try fields.decode([String].self, forKey: .names),
            count: try fields.decodeIfPresent(Int.self, forKey: .count))
    }
}
