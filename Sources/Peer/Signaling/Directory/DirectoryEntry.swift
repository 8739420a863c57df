public import Admission
public import Identifiers
import MediaCore

/// A broadcast in the directory of a relay, as programs read it (`GET /broadcasts`). Of a relay's answer, all texts are
/// unverified.
public struct DirectoryEntry: Codable, Hashable, Sendable {
    /// The route of media to the viewers.
    public enum Route: String, Codable, Sendable {
        /// Over the relay.
        case relay
        /// From the host.
        case direct
    }

    /// The application whose frames are shared, as its host says.
    public struct Application: Codable, Hashable, Sendable {
        public let id: String
        public let name: String
        /// There is an image at `/broadcasts/ID/icon`.
        public fileprivate(set) var hasIcon: Bool

        fileprivate init(id: String, name: String, hasIcon: Bool) {
            (self.id, self.name, self.hasIcon) = (id, name, hasIcon)
        }

        /// Cleans the texts.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            let info = ApplicationInfo(
                id: try values.decode(String.self, forKey: .id), name: try values.decode(String.self, forKey: .name))
            self.init(id: info.id, name: info.name, hasIcon: try values.decode(Bool.self, forKey: .hasIcon))
        }
    }

    /// Of the broadcast.
    public let id: String
    /// 1...120 scalars, cleaned by ``UntrustedText``.
    public let title: String
    public private(set) var application: Application
    /// The label of the relay that has it.
    public let region: String?
    /// Nil if the relay does not know.
    public var viewers: Int?
    /// When it was listed, in seconds since 1970.
    public let since: Int
    public let codec: String?
    public let route: Route
    /// The relay cannot watch, as the host says.
    public let isEncrypted: Bool
    /// The viewers' link, which has a secret: who reads the directory may knock.
    public var link: String

    static let titleLimit = 120

    public init(
        _ link: Link, title: String, application: ApplicationInfo, region: String?, viewers: Int?, since: Int,
        codec: String?, route: Route, isEncrypted: Bool = false
    ) {
        id = link.id.text
        self.title = UntrustedText.clean(title, limit: Self.titleLimit, fallback: application.name)
        self.application = Application(id: application.id, name: application.name, hasIcon: application.icon != nil)
        self.region = region
        self.viewers = viewers
        self.since = since
        self.codec = codec
        self.route = route
        self.isEncrypted = isEncrypted
        self.link = link.text
    }

    /// Cleans the texts, and limits the numbers to those that there can be.
    /// - Throws: if the link is none, or another broadcast's.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let link = try Link(parsing: values.decode(String.self, forKey: .link))
        id = link.id.text
        guard try values.decode(String.self, forKey: .id) == id else {
            throw DecodingError.dataCorruptedError(forKey: .id, in: values, debugDescription: "it is not the link's")
        }
        self.link = link.text
        application = try values.decode(Application.self, forKey: .application)
        title = UntrustedText.clean(
            try values.decode(String.self, forKey: .title), limit: Self.titleLimit, fallback: application.name)
        let region = try values.decodeIfPresent(String.self, forKey: .region) ?? ""
        self.region = UntrustedText.clean(region, limit: Self.regionLimit, fallback: "").nonEmpty
        viewers = try values.decodeIfPresent(Int.self, forKey: .viewers).map { min(max($0, 0), Self.viewerLimit) }
        since = min(max(try values.decode(Int.self, forKey: .since), 0), Self.latest)
        let codec = try values.decodeIfPresent(String.self, forKey: .codec) ?? ""
        self.codec = UntrustedText.clean(codec, limit: Self.codecLimit, fallback: "").nonEmpty
        route = try values.decode(Route.self, forKey: .route)
        isEncrypted = try values.decodeIfPresent(Bool.self, forKey: .isEncrypted) ?? false
    }

    private enum CodingKeys: String, CodingKey {
        case id, title, application, region, viewers, since, codec, route, link
        case isEncrypted = "encrypted"
    }

    static let regionLimit = 32
    private static let codecLimit = 16
    private static let viewerLimit = 1_000_000_000
    /// In the year 10,000.
    private static let latest = 253_402_300_800

    /// Shows another application from now on.
    mutating func setApplication(_ info: ApplicationInfo) {
        application = Application(id: info.id, name: info.name, hasIcon: info.icon != nil)
    }

    /// The image is not at hand here.
    package mutating func removeIcon() { application.hasIcon = false }
}

extension String {
    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
