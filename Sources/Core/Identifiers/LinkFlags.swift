/// What a link of version 2 says beside its fields, as one byte.
public struct LinkFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The server's TLS certificate is checked by its name, against the system's roots. The link's hash is that of the
    /// peer's identity alone: DTLS, proofs and pairing.
    public static let webPKI = LinkFlags(rawValue: 0x01)

    /// A relay is at the link's address, and the hash of its certificate (32 bytes) ends the link.
    public static let relay = LinkFlags(rawValue: 0x02)

    /// Of a link to a service: its secret (16 bytes) follows the hash of its certificate.
    public static let secret = LinkFlags(rawValue: 0x04)
}

/// The fragment of a link: base64url of `0x01 | fields`, or of `0x02 | flags (1 byte) | fields` if there are flags.
struct LinkFragment: Equatable {
    var flags: LinkFlags
    var fields: [UInt8]

    var text: String {
        Base64URL.encode((flags.isEmpty ? [1] : [2, flags.rawValue]) + fields)
    }
}

extension LinkFragment {
    /// - Parameters:
    ///   - length: of the fields that each such link has, in bytes.
    ///   - known: the flags that this version understands. A link with any other is refused.
    init(parsing text: Substring, length: Int, known: LinkFlags) throws(LinkError) {
        if let odd = text.utf8.firstIndex(where: { Base64URL.value(of: $0) == nil }) {
            let place = text.utf8.distance(from: text.startIndex, to: odd) + 1
            throw .mistyped("character \(place) after # cannot be there")
        }
        // The first two bytes, or what is there of them.
        let head = Base64URL.decode((text.prefix(4) + "AAAA").prefix(4)) ?? []
        switch text.utf8.count < 2 ? 1 : head.first {
        case 2:
            let flags = LinkFlags(rawValue: head.dropFirst().first ?? 0)
            guard flags.isSubset(of: known) else { throw .unknownFlags(flags.subtracting(known).rawValue) }
            let count =
                2 + length + (flags.contains(.secret) ? Link.secretLength : 0) + (flags.contains(.relay) ? 32 : 0)
            self.init(flags: flags, fields: Array(try Self.bytes(text, count: count).dropFirst(2)))
        case 1: self.init(flags: [], fields: Array(try Self.bytes(text, count: 1 + length).dropFirst()))
        case let version: throw .unknownVersion(version ?? 0)
        }
    }

    /// The characters of base64url for `count` bytes, without padding.
    static func characters(forBytes count: Int) -> Int { (count * 4 + 2) / 3 }

    private static func bytes(_ text: Substring, count: Int) throws(LinkError) -> [UInt8] {
        let (length, expected) = (text.utf8.count, characters(forBytes: count))
        guard length >= expected else { throw .cutOff(missing: expected - length) }
        guard length == expected else { throw .mistyped("it is \(length - expected) characters too long") }
        guard let bytes = Base64URL.decode(text), bytes.count == count else {
            throw .mistyped("its last character cannot be there")
        }
        return bytes
    }
}
