/// The URL of a STUN or TURN server (RFC 7064 section 3.1, RFC 7065 section 3.1).
public struct ServerURL: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Sendable { case stun, turn }
    public enum Transport: Sendable { case udp, tcp, tls }

    public let kind: Kind
    /// A name, or an address without brackets.
    public let host: String
    public let port: UInt16
    public let transport: Transport

    /// Parses `stun:HOST[:PORT]`, `turn:HOST[:PORT][?transport=udp|tcp]` or `turns:HOST[:PORT]`.
    public init(_ text: String) throws(ServerURLError) {
        guard text.utf8.count <= 512, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .malformed }
        guard let colon = text.firstIndex(of: ":") else { throw .malformed }
        var rest = text[text.index(after: colon)...]
        var asked: Transport?
        if let question = rest.firstIndex(of: "?") {
            switch rest[rest.index(after: question)...].lowercased() {
            case "transport=udp": asked = .udp
            case "transport=tcp": asked = .tcp
            default: throw .malformed
            }
            rest = rest[..<question]
        }
        switch (text[..<colon].lowercased(), asked) {
        case ("stun", nil): (kind, transport) = (.stun, .udp)
        case ("turn", nil), ("turn", .udp): (kind, transport) = (.turn, .udp)
        case ("turn", .tcp): (kind, transport) = (.turn, .tcp)
        case ("turns", nil), ("turns", .tcp): (kind, transport) = (.turn, .tls)
        case ("stuns", _), ("turns", _), ("stun", _): throw .unsupported
        default: throw .malformed
        }
        (host, port) = try Self.place(rest, standardPort: transport == .tls ? 5_349 : 3_478)
    }

    private static func place(_ text: Substring, standardPort: UInt16) throws(ServerURLError) -> (String, UInt16) {
        var host = text
        var port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw .malformed }
            host = text[text.index(after: text.startIndex)..<end]
            let tail = text[text.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { throw .malformed }
            port = tail.isEmpty ? nil : tail.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        let isPlausible = host.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard !host.isEmpty, host.utf8.count <= 253, isPlausible else { throw .malformed }
        guard let port else { return (String(host), standardPort) }
        // A leading plus sign is not allowed in a port, although `UInt16` accepts it.
        guard !port.hasPrefix("+"), let number = UInt16(port), number > 0 else { throw .malformed }
        return (String(host), number)
    }

    /// The URL with port and transport, without credentials.
    public var text: String {
        let place = (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        switch (kind, transport) {
        case (.stun, _): return "stun:\(place)"
        case (.turn, .udp): return "turn:\(place)?transport=udp"
        case (.turn, .tcp): return "turn:\(place)?transport=tcp"
        case (.turn, .tls): return "turns:\(place)?transport=tcp"
        }
    }

    public var description: String { text }
}

public enum ServerURLError: Error, Sendable, CustomStringConvertible {
    case malformed
    /// STUN over TCP, TLS or DTLS, or TURN over DTLS.
    case unsupported

    public var description: String {
        switch self {
        case .malformed: "a server is stun:HOST[:PORT], turn:HOST[:PORT][?transport=udp|tcp] or turns:HOST[:PORT]"
        case .unsupported: "STUN goes over UDP (stun:), TURN over UDP, TCP (turn:) or TLS (turns:), and nothing else"
        }
    }
}
