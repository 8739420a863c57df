import FoundationEssentials
import MediaCore

/// The application that broadcasts, as it names itself. Not verified.
public struct ApplicationInfo: Hashable, Sendable {
    static let idLimit = 128
    static let nameLimit = 64

    /// 1...128 scalars, cleaned by ``UntrustedText``; by convention in reverse-DNS notation.
    public let id: String
    /// 1...64 scalars, cleaned by ``UntrustedText``.
    public let name: String
    public let icon: PNGIcon?

    /// Cleans and shortens both texts. An empty identifier becomes "unknown", an empty name the identifier.
    public init(id: String, name: String, icon: PNGIcon? = nil) {
        self.icon = icon
        self.id = UntrustedText.clean(id, limit: Self.idLimit, fallback: "unknown")
        self.name = UntrustedText.clean(
            name, limit: Self.nameLimit,
            fallback: UntrustedText.clean(self.id, limit: Self.nameLimit, fallback: "unknown"))
    }
}

extension ApplicationInfo: Codable {
    private enum CodingKeys: CodingKey { case id, name, iconData }

    /// Refuses texts that cleaning would change: both sides sign these bytes, and the service's user sees them.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        name = try values.decode(String.self, forKey: .name)
        guard UntrustedText.isClean(id, limit: Self.idLimit), UntrustedText.isClean(name, limit: Self.nameLimit) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "an application's id or name cannot be shown"))
        }
        icon = try values.decodeIfPresent(Data.self, forKey: .iconData).map { try PNGIcon(Array($0)) }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id, forKey: .id)
        try values.encode(name, forKey: .name)
        try values.encodeIfPresent(icon.map { Data($0.bytes) }, forKey: .iconData)
    }
}
