/// The link that invites to a broadcast: `https://HOST:PORT/ID#FRAGMENT`, where FRAGMENT is base64url of `0x01 | secret
/// (16 bytes) | SHA-256 of the host's certificate (32 bytes)`; with flags, `0x02 | flags` instead of `0x01`.
/// The SHA-256 of a relay's certificate may follow.
///
/// Everybody who has the link may knock. `description` omits the secret; only `text` contains it.
public struct Link: Sendable, Hashable {
    /// A name or an address; IPv6 without brackets.
    public let host: String
    public let port: Int
    public let id: BroadcastID
    /// 16 bytes.
    public let secret: [UInt8]
    /// SHA-256 of the host's certificate, 32 bytes.
    public let fingerprint: [UInt8]
    /// SHA-256 of the certificate of the relay at the link's address, 32 bytes; nil if the host itself is there.
    public let relay: [UInt8]?
    public let flags: LinkFlags

    /// The scheme of links that a desktop opens in this program instead of in a browser.
    package static let ownScheme = "share://"
    package static let secretLength = 16
    /// The secret of a link that a host announces on the local network: 16 zero bytes, known to everybody. A host takes
    /// knocks with it only while it announces itself, and only from the local network.
    package static let announcedSecret = [UInt8](repeating: 0, count: 16)
    /// The secret and the fingerprint, in bytes.
    private static let fieldsLength = 48

    /// - Precondition: 16 bytes of secret, 32 of fingerprint, a port in 1...65535.
    public init(
        host: String, port: Int, id: BroadcastID, secret: [UInt8], fingerprint: [UInt8], relay: [UInt8]? = nil,
        flags: LinkFlags = []
    ) {
        precondition(secret.count == 16 && fingerprint.count == 32 && (1...65_535).contains(port))
        precondition(relay?.count ?? 32 == 32)
        self.relay = relay
        self.host = host
        self.port = port
        self.id = id
        self.secret = secret
        self.fingerprint = fingerprint
        // The place may be that of a link to a relay, with its flags. The secret of that one is for publishers.
        self.flags = flags.subtracting([.relay, .secret]).union(relay == nil ? [] : .relay)
    }

    /// Returns a link to the same broadcast at another address.
    public func at(host: String, port: Int) -> Link {
        Link(host: host, port: port, id: id, secret: secret, fingerprint: fingerprint, relay: relay, flags: flags)
    }

    /// `HOST:PORT` with IPv6 in brackets.
    public var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// The whole link, secret included.
    public var text: String {
        let fragment = LinkFragment(flags: flags, fields: secret + fingerprint + (relay ?? []))
        return "https://\(authority)/\(id.text)#\(fragment.text)"
    }
}

extension Link: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The link without its fragment, for logs.
    public var redacted: String { "https://\(authority)/\(id.text)#..." }
    public var description: String { redacted }
    public var debugDescription: String { redacted }
    public var customMirror: Mirror { Mirror(self, children: ["link": redacted]) }
}

/// Why a text is not a valid link. `description` is a sentence for people and never contains the link.
public enum LinkError: Error, Equatable, CustomStringConvertible {
    case notALink
    case notAServiceLink
    /// The link to a service, where that of a broadcast is wanted, and the other way round.
    case isOfService
    case isOfBroadcast
    /// The given number of characters is missing at the end.
    case cutOff(missing: Int)
    /// A part of the link is wrong; the value says which.
    case mistyped(String)
    case unknownVersion(UInt8)
    /// The bits that this version does not know.
    case unknownFlags(UInt8)

    public var description: String {
        switch self {
        case .notALink: "this is not a link of share: one looks like https://HOST:PORT/ID#SECRET"
        case .notAServiceLink:
            "this is not a link to a service: one looks like https://HOST:PORT/services/ID#FINGERPRINT"
        case .isOfService:
            "this is the link of a service, which takes broadcasts in; nothing can be watched there"
        case .isOfBroadcast:
            "this is the link of a broadcast, to watch it with share join; a service's looks like https://HOST:PORT/services/ID#FINGERPRINT"
        case .cutOff(let count):
            "the link is \(count) character\(count == 1 ? "" : "s") short: copy it again, to its very end "
                + "(in a shell, put it in quotes)"
        case .mistyped(let what): "the link is mistyped: \(what); copy it again"
        case .unknownVersion(let version):
            "the link is of version \(version), which this share does not know: update share, or copy the link again"
        case .unknownFlags(let flags):
            "the link needs a newer share (it has flags \(flags)): update share, or copy the link again"
        }
    }
}

extension Link {
    /// Parses a link as people paste it. Ignores white space around and inside (a wrapped line) and quotes or angle
    /// brackets around it; accepts the ID in lower case, and `share` instead of `https`, which opens this program.
    public init(parsing text: String) throws(LinkError) {
        let (host, port, path) = try Self.split(text, schemes: ["https://", Self.ownScheme])
        let hash = path.firstIndex(of: "#") ?? path.endIndex
        let name = path[..<hash]
        let fragment = path[hash...].dropFirst()
        guard hash < path.endIndex else {
            let missing =
                BroadcastID.length - name.utf8.count + 1
                + LinkFragment.characters(forBytes: 1 + Self.fieldsLength)
            // An address without a port is that of something else, unless a whole identifier follows.
            guard name.utf8.count <= BroadcastID.length, port != 443 || name.utf8.count == BroadcastID.length,
                name.utf8.allSatisfy({ BroadcastID.value(of: $0) != nil })
            else {
                throw path.hasPrefix("services/") ? .isOfService : .notALink
            }
            throw .cutOff(missing: missing)
        }
        if name.hasPrefix("services/") { throw .isOfService }
        guard let id = BroadcastID(name) else {
            throw .mistyped("the \(BroadcastID.length) characters between the address and # are not right")
        }
        let content = try LinkFragment(
            parsing: fragment, length: Self.fieldsLength, known: [.webPKI, .relay])
        let relay = content.fields.dropFirst(Self.fieldsLength)
        self.init(
            host: host, port: port, id: id, secret: Array(content.fields.prefix(Self.secretLength)),
            fingerprint: Array(content.fields[Self.secretLength..<Self.fieldsLength]),
            relay: relay.isEmpty ? nil : Array(relay), flags: content.flags)
    }

    /// Parses a link that a desktop hands over, of the scheme `share`. Any web page can make one: nothing is ignored or
    /// completed.
    public init(opening text: String) throws(LinkError) {
        guard text.hasPrefix(Self.ownScheme) else { throw .notALink }
        try self.init(parsing: text)
        guard text.dropFirst(Self.ownScheme.count) == self.text.dropFirst("https://".count) else {
            throw .mistyped("it is not as share writes links")
        }
    }

    /// Returns the parts of a pasted link; the path without its first slash, with the fragment.
    static func split(
        _ text: String, schemes: [String] = ["https://"]
    ) throws(LinkError) -> (host: String, port: Int, path: Substring) {
        guard text.utf8.count <= 4_096 else { throw .notALink }
        var rest = Substring(text.filter { !$0.isWhitespace })
        for (open, close) in [("<", ">"), ("\"", "\""), ("'", "'")] where rest.hasPrefix(open) {
            rest = rest.dropFirst()
            if rest.hasSuffix(close) { rest = rest.dropLast() }
        }
        guard let scheme = schemes.first(where: { rest.lowercased().hasPrefix($0) }) else { throw .notALink }
        rest = rest.dropFirst(scheme.count)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let (host, port) = try authority(rest[..<slash])
        return (host, port, rest[slash...].dropFirst())
    }

    /// Returns a name or an address (IPv6 with brackets or without) as links have it; nil if it cannot be in one.
    public static func host(_ text: String) -> String? {
        let isAddress = text.contains(":") && !text.hasPrefix("[")
        let parts = try? authority(Substring(isAddress ? "[\(text)]:1" : "\(text):1"))
        return parts?.0
    }

    private static func authority(_ text: Substring) throws(LinkError) -> (String, Int) {
        var host = text
        var port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw .notALink }
            host = text[text.index(after: text.startIndex)..<end]
            let after = text[text.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { throw .notALink }
            port = after.isEmpty ? nil : after.dropFirst()
            guard host.contains(":"), host.utf8.allSatisfy({ isAddressCharacter($0) }) else { throw .notALink }
        } else {
            if let colon = text.firstIndex(of: ":") {
                host = text[..<colon]
                port = text[text.index(after: colon)...]
            }
            guard host.utf8.allSatisfy({ isNameCharacter($0) }) else { throw .notALink }
        }
        guard (1...255).contains(host.utf8.count) else { throw .notALink }
        guard let port else { return (String(host), 443) }
        guard port.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(port), (1...65_535).contains(number)
        else {
            throw .mistyped("its port is not a number from 1 to 65535")
        }
        return (String(host), number)
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Includes `%` and the name of a zone, for link-local addresses.
    private static func isAddressCharacter(_ byte: UInt8) -> Bool {
        isNameCharacter(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "%")
    }
}
