public import Admission
import MediaCore

/// A broadcast in the directory of a relay, as programs read it (`GET /broadcasts`). Of a relay's answer, all texts are
/// unverified.
public struct DirectoryEntry: Codable, Hashable, Sendable {
    /// How media reaches the viewers.
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
    /// The viewers' link, which has a secret: who reads the directory may knock.
    public var link: String

    static let titleLimit = 120

    public init(
        _ link: Link, title: String, application: ApplicationInfo, region: String?, viewers: Int?, since: Int,
        codec: String?, route: Route
    ) {
        id = link.id.text
        self.title = UntrustedText.clean(title, limit: Self.titleLimit, fallback: application.name)
        self.application = Application(id: application.id, name: application.name, hasIcon: application.icon != nil)
        self.region = region
        self.viewers = viewers
        self.since = since
        self.codec = codec
        self.route = route
        self.link = link.text
    }

    /// The image is not at hand here.
    package mutating func removeIcon() { application.hasIcon = false }
}
