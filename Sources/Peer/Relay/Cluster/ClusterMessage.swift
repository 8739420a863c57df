import Admission
import FoundationEssentials
public import Identifiers
import MediaCore
public import Signaling

/// What a relay tells the others of itself.
public struct ClusterNode: Codable, Hashable, Sendable {
    /// 1 to 32 of `a-z`, `0-9` and `-`.
    public var name: String
    /// The name or address of its HTTPS server, and its port.
    public var host: String
    public var port: Int
    /// base64url of the SHA-256 of its certificate, 32 bytes.
    public var fingerprint: String
    /// Its HTTPS certificate is checked by its name.
    public var isWebPKI: Bool
    /// base64url of the secret in its link for publishers, 16 bytes; nil: it has none.
    public var linkSecret: String?
    public var region: String?
    /// It takes nobody in any more.
    public var isDraining = false

    public init(
        name: String, host: String, port: Int, fingerprint: [UInt8], isWebPKI: Bool, region: String?,
        linkSecret: [UInt8]? = nil
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.fingerprint = Base64URL.encode(fingerprint)
        self.isWebPKI = isWebPKI
        self.region = region
        self.linkSecret = linkSecret.map { Base64URL.encode($0) }
    }

    /// Cleans the texts.
    /// - Throws: if the host cannot be one.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decode(String.self, forKey: .name)
        host = try values.decode(String.self, forKey: .host)
        port = try values.decode(Int.self, forKey: .port)
        fingerprint = try values.decode(String.self, forKey: .fingerprint)
        isWebPKI = try values.decode(Bool.self, forKey: .isWebPKI)
        linkSecret = try values.decodeIfPresent(String.self, forKey: .linkSecret)
        let region = try values.decodeIfPresent(String.self, forKey: .region)
        self.region = region.map { UntrustedText.clean($0, limit: 32, fallback: "unknown") }
        isDraining = try values.decode(Bool.self, forKey: .isDraining)
        guard Self.isName(name), Self.isHost(host), [fingerprint, linkSecret ?? ""].allSatisfy({ $0.utf8.count <= 64 })
        else {
            throw DecodingError.dataCorruptedError(forKey: .host, in: values, debugDescription: "it is no relay")
        }
    }

    /// Letters, digits, `.`, `-`, `_` and the colons of an IPv6 address: 1 to 253 bytes.
    private static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x3A).contains(byte)
                    || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
    }

    /// Whether a text can be the name of a relay.
    public static func isName(_ text: some StringProtocol) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }

    /// Nil if it is none.
    var digest: [UInt8]? { Base64URL.decode(fingerprint, count: 32) }

    /// Its link for publishers.
    /// - Parameter id: of its service.
    public func serviceLink(_ id: ServiceID) -> ServiceLink? {
        guard let digest, (1...65_535).contains(port) else { return nil }
        let secret = linkSecret.flatMap { Base64URL.decode($0) }
        return ServiceLink(
            host: host, port: port, id: id, fingerprint: digest,
            secret: secret?.count == Link.secretLength ? secret : nil, flags: isWebPKI ? .webPKI : [])
    }

    /// The link of a broadcast at this relay.
    /// - Parameter known: its link at any relay.
    public func link(of known: Link) -> Link? {
        guard let digest, (1...65_535).contains(port) else { return nil }
        return Link(
            host: host, port: port, id: known.id, secret: known.secret, fingerprint: digest,
            flags: isWebPKI ? .webPKI : [])
    }
}

/// A broadcast that a relay has, as it tells the others.
public struct ClusterBroadcast: Codable, Hashable, Sendable {
    /// The viewers' link at the relay that tells of it.
    public var link: String
    /// The relays that it has come through: the one that the publisher sends to first, the one that tells of it last.
    public var path: [String]
    /// For people; empty if it has none.
    public var name: String
    /// Viewers at this relay, other relays not counted.
    public var viewers = 0
    /// The publisher is asked about viewers, by the first relay of the path.
    public var publisherDecides: Bool
    /// The media is encrypted for viewers whom the publisher sends to a relay.
    public var isEncrypted = false
    /// base64url of the SHA-256 of the publisher's certificate: nobody else can go on with the broadcast at another
    /// relay.
    public var publisher: String?
    /// base64url of the key of the viewers' passes, 32 bytes; nil: there are none.
    public var passKey: String?
    /// In the directory; nil: it is not listed.
    public var listing: DirectoryEntry?
    /// The change of the relay that this is of.
    var change = 0

    /// - Parameter passKey: 32 bytes.
    public init(link: Link, path: [String], name: String, publisherDecides: Bool, passKey: [UInt8]? = nil) {
        self.passKey = passKey.map { Base64URL.encode($0) }
        self.link = link.text
        self.path = path
        self.name = name
        self.publisherDecides = publisherDecides
    }

    /// Cleans the name, and leaves out a listing that is none.
    /// - Throws: if something is longer than it can be.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        link = try values.decode(String.self, forKey: .link)
        path = try values.decode([String].self, forKey: .path)
        name = UntrustedText.clean(
            try values.decode(String.self, forKey: .name), limit: Self.nameLimit, fallback: "")
        viewers = try values.decode(Int.self, forKey: .viewers)
        publisherDecides = try values.decode(Bool.self, forKey: .publisherDecides)
        isEncrypted = try values.decodeIfPresent(Bool.self, forKey: .isEncrypted) ?? false
        publisher = try values.decodeIfPresent(String.self, forKey: .publisher)
        passKey = try values.decodeIfPresent(String.self, forKey: .passKey)
        change = try values.decode(Int.self, forKey: .change)
        listing = (try? values.decodeIfPresent(DirectoryEntry.self, forKey: .listing)) ?? nil
        guard link.utf8.count <= Self.linkLimit, path.count <= Self.depthLimit,
            [publisher ?? "", passKey ?? ""].allSatisfy({ $0.utf8.count <= 64 })
        else {
            throw DecodingError.dataCorruptedError(forKey: .link, in: values, debugDescription: "it is too long")
        }
    }

    private static let nameLimit = 120
    private static let linkLimit = 512

    /// Nil if it is broken.
    public var parsedLink: Link? { try? Link(parsing: link) }

    /// Nil if it has none.
    public var parsedPassKey: [UInt8]? { Base64URL.decode(passKey, count: AdmissionPass.keyLength) }

    /// Viewers at one relay: more than there can be.
    static let viewerLimit = 1_000_000
    /// The most relays that a broadcast comes through.
    public static let depthLimit = 3

    /// Whether the message makes sense: the relay that tells of it is the last one of its path.
    func isValid(from node: String) -> Bool {
        path.last == node && (1...Self.depthLimit).contains(path.count) && Set(path).count == path.count
            && path.allSatisfy { ClusterNode.isName($0) } && parsedLink != nil
            && (0...Self.viewerLimit).contains(viewers) && (0...ClusterState.changeLimit).contains(change)
    }
}

/// What a relay sends to all others.
struct ClusterMessage: Codable {
    enum Body: Codable {
        /// Each ``ClusterState/interval``.
        case alive(ClusterNode)
        case put(id: String, ClusterBroadcast)
        case remove(id: String)
        /// It stops.
        case leave
    }

    var node: String
    /// Of this run of the relay.
    var run: UInt64
    /// How many changes of its broadcasts there have been, this message included.
    var change: Int
    var body: Body
}

/// A part of what a relay has, in answer to ``SnapshotRequest``.
struct ClusterSnapshot: Codable {
    struct Entry: Codable {
        var id: String
        var broadcast: ClusterBroadcast
    }

    var node: ClusterNode
    var run: UInt64
    var change: Int
    var entries: [Entry]
    /// What the next request asks for; nil: this is the last part.
    var next: String?
}

struct SnapshotRequest: Codable {
    /// The identifier after which the part begins.
    var after: String?
}

/// A question about a viewer, to the first relay of a broadcast.
struct ViewerQuestionDocument: Codable {
    var broadcast: String
    var viewer: ViewerDocument
}

/// What the slowest viewer of a relay can get, for the relay that it fetches the broadcast from.
struct SlowestBitrateDocument: Codable {
    var node: String
    var broadcast: String
    /// In bit/s, audio and headers included; nil: as much as the others there.
    var bitrate: Int?
}

/// JSON of messages.
enum ClusterJSON {
    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? []
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}
