/// The link to a service: `https://HOST:PORT/services/ID#FRAGMENT`, where FRAGMENT is base64url of `0x01 | SHA-256 of
/// the service's certificate (32 bytes)`; with flags, `0x02 | flags` instead of `0x01`.
/// A secret (16 bytes) and the SHA-256 of a relay's certificate may follow.
///
/// The hash is public: TLS shows the certificate to everybody. Only `secret` makes a link the key to a service.
/// `description` omits the secret; only `text` contains it.
public struct ServiceLink: Hashable, Sendable {
    /// A name or an address; IPv6 without brackets.
    public let host: String
    public let port: Int
    public let id: ServiceID
    /// SHA-256 of the service's certificate, 32 bytes. No other certificate is accepted.
    public let fingerprint: [UInt8]
    /// SHA-256 of the certificate of the relay at the link's address, 32 bytes; nil if the service itself is there.
    public let relay: [UInt8]?
    /// 16 bytes, with which hosts prove that they have this link; nil: the service decides about each host.
    public let secret: [UInt8]?
    public let flags: LinkFlags

    private static let fieldsLength = 32
    private static let folder = "services/"

    /// - Precondition: 32 bytes of fingerprint, 16 of secret, a port in 1...65535.
    public init(
        host: String, port: Int, id: ServiceID, fingerprint: [UInt8], relay: [UInt8]? = nil, secret: [UInt8]? = nil,
        flags: LinkFlags = []
    ) {
        precondition(fingerprint.count == 32 && (1...65_535).contains(port))
        precondition(relay?.count ?? 32 == 32 && secret?.count ?? Link.secretLength == Link.secretLength)
        self.relay = relay
        self.secret = secret
        self.host = host
        self.port = port
        self.id = id
        self.fingerprint = fingerprint
        self.flags = flags.subtracting([.relay, .secret]).union(relay == nil ? [] : .relay)
            .union(secret == nil ? [] : .secret)
    }

    /// Returns a link to the same service at another address.
    public func at(host: String, port: Int) -> ServiceLink {
        ServiceLink(
            host: host, port: port, id: id, fingerprint: fingerprint, relay: relay, secret: secret, flags: flags)
    }

    /// `HOST:PORT` with IPv6 in brackets.
    public var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// Where the service is, for people.
    public var destination: String { relay == nil ? authority : "over the relay at \(authority)" }

    /// The path of the service's resources, without a slash at the end.
    public var path: String { "/\(Self.folder)\(id.text)" }

    /// The whole link, secret included.
    public var text: String {
        let fields = fingerprint + (secret ?? []) + (relay ?? [])
        return "https://\(authority)\(path)#" + LinkFragment(flags: flags, fields: fields).text
    }
}

extension ServiceLink: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The link, for logs: without its fragment if that has a secret.
    public var redacted: String { secret == nil ? text : "https://\(authority)\(path)#..." }
    public var description: String { redacted }
    public var debugDescription: String { redacted }
    public var customMirror: Mirror { Mirror(self, children: ["link": redacted]) }
}

extension ServiceLink {
    /// Parses a link as people paste it, with the tolerance of ``Link/init(parsing:)``.
    public init(parsing text: String) throws(LinkError) {
        let parts: (host: String, port: Int, path: Substring)
        do throws(LinkError) {
            parts = try Link.split(text)
        } catch {
            throw error == .notALink ? .notAServiceLink : error
        }
        guard parts.path.lowercased().hasPrefix(Self.folder) else {
            throw (try? Link(parsing: text)) == nil ? .notAServiceLink : .isOfBroadcast
        }
        let path = parts.path.dropFirst(Self.folder.count)
        let hash = path.firstIndex(of: "#") ?? path.endIndex
        guard let id = ServiceID(path[..<hash]) else {
            throw .mistyped("what stands between services/ and # is not the identifier of a service")
        }
        guard hash < path.endIndex else {
            throw .cutOff(missing: LinkFragment.characters(forBytes: 1 + Self.fieldsLength) + 1)
        }
        let content = try LinkFragment(
            parsing: path[hash...].dropFirst(), length: Self.fieldsLength, known: [.webPKI, .relay, .secret])
        let rest = content.fields.dropFirst(Self.fieldsLength)
        let secret = content.flags.contains(.secret) ? rest.prefix(Link.secretLength) : []
        let relay = rest.dropFirst(secret.count)
        self.init(
            host: parts.host, port: parts.port, id: id, fingerprint: Array(content.fields.prefix(Self.fieldsLength)),
            relay: relay.isEmpty ? nil : Array(relay), secret: secret.isEmpty ? nil : Array(secret),
            flags: content.flags)
    }
}

extension ServiceLink: Codable {
    public init(from decoder: any Decoder) throws {
        try self.init(parsing: decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
