public import Identifiers

/// A publisher's wish to be listed in the directory of a relay.
public struct Listing: Sendable, Hashable {
    /// Empty: the application's name.
    public var title: String
    /// The viewers' link of a host that is reached over the relay; nil for a broadcast over the relay, which knows it.
    public var link: Link?
    /// The number of viewers, for a host with a tunnel.
    public var viewers: Int?
    /// The relay alone sends to the viewers of a host with a tunnel.
    public var isRelayOnly = false
    /// The relay cannot watch: with a tunnel, the media is the host's own, or encrypted for its viewers.
    public var isEncrypted = false

    public init(title: String, link: Link? = nil, viewers: Int? = nil) {
        self.title = title
        self.link = link
        self.viewers = viewers
    }
}

/// The JSON of a ``Listing``.
struct ListingDocument: Codable {
    static let sizeLimit = 4_096

    var title: String
    var link: String?
    var viewers: Int?
    /// Of a host with a tunnel; `direct` if it is left out.
    var route: DirectoryEntry.Route?
    var encrypted: Bool?

    init(_ listing: Listing) {
        title = listing.title
        link = listing.link?.text
        viewers = listing.viewers
        route = listing.isRelayOnly ? .relay : nil
        encrypted = listing.isEncrypted ? true : nil
    }

    /// Nil if the link is none.
    var listing: Listing? {
        let parsed = link.flatMap { try? Link(parsing: $0) }
        guard link == nil || parsed != nil else { return nil }
        var listing = Listing(title: title, link: parsed, viewers: viewers.map { min(max($0, 0), 1_000_000) })
        (listing.isRelayOnly, listing.isEncrypted) = (route == .relay, encrypted == true)
        return listing
    }
}

/// The JSON of `GET /broadcasts`.
struct DirectoryDocument: Codable {
    var broadcasts: [DirectoryEntry]
    /// The number of broadcasts; those with the most viewers are in the document.
    var total: Int

    init(broadcasts: [DirectoryEntry], total: Int) {
        self.broadcasts = broadcasts
        self.total = total
    }

    /// Entries that are none are left out.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let found = try values.decode([Readable].self, forKey: .broadcasts)
        broadcasts = found.prefix(Self.limit).compactMap(\.entry)
        total = min(max(try values.decode(Int.self, forKey: .total), broadcasts.count), 1_000_000_000)
    }

    /// More are not shown.
    private static let limit = 1_000

    private struct Readable: Decodable {
        let entry: DirectoryEntry?
        init(from decoder: any Decoder) throws { entry = try? DirectoryEntry(from: decoder) }
    }
}
