/// An ICE candidate. RFC 8839 section 5.1.
public struct ICECandidate: Hashable, Sendable {
    public enum Transport: String, Hashable, Sendable { case udp, tcp }
    public enum Kind: String, Hashable, Sendable {
        case host
        case serverReflexive = "srflx"
        case peerReflexive = "prflx"
        case relayed = "relay"
    }
    /// The content of the address field.
    public enum AddressKind: Hashable, Sendable {
        case address(IPAddress)
        /// A `.local` name, which hides an address of the local network.
        case multicastDNS
        case hostName
    }

    public let foundation: String
    /// 1 is RTP, with RTCP on the same component.
    public let component: UInt16
    public let transport: Transport
    /// 1...2^31-1; RFC 8445 section 5.1.2.
    public let priority: UInt32
    public let address: String
    public let addressKind: AddressKind
    public let port: UInt16
    public let kind: Kind
    public let relatedAddress: String?
    public let relatedPort: UInt16?
    public let tcpType: String?
    /// The user name fragment of the candidate's ICE session; nil if it does not say.
    public let usernameFragment: String?

    /// Parses `candidate:...`, with or without `a=` before it; nil if it is malformed or its priority is 0. Unknown
    /// trailing attributes are dropped.
    public init?(_ line: String) {
        guard line.utf8.count <= 1_024, line.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return nil }
        var rest = line.text.trimmed
        if rest.utf8.starts(with: "a=".utf8) { rest = rest.dropFirst(2) }
        let (name, value) = rest.cut(at: UInt8(ascii: ":"))
        guard name == "candidate", let value else { return nil }
        self.init(value: value)
    }

    /// Parses the text after `candidate:`.
    init?(value: Substring) {
        let fields = value.fields(limit: 64)
        guard fields.count >= 8, fields[0].utf8.count <= 32, fields[0].isICECharacters,
            let component = fields[1].decimal(upTo: 256), component > 0,
            let transport = Transport(rawValue: String(fields[2]).lowercased()),
            let priority = fields[3].decimal(upTo: 0x7FFF_FFFF), priority > 0,
            fields[4].utf8.count <= 253, fields[4].isVisibleASCII,
            let port = fields[5].decimal(upTo: 65_535),
            fields[6] == "typ", let kind = Kind(rawValue: String(fields[7]))
        else { return nil }
        var related: (address: String?, port: UInt16?) = (nil, nil)
        var tcpType: String?
        var usernameFragment: String?
        var index = 8
        while index + 1 < fields.count {
            let value = fields[index + 1]
            switch fields[index] {
            case "raddr": related.address = IPAddress(value) == nil ? nil : String(value)
            case "rport": related.port = value.decimal(upTo: 65_535).map { UInt16(truncatingIfNeeded: $0) }
            case "tcptype": tcpType = value.isVisibleASCII ? String(value) : nil
            case "ufrag": usernameFragment = value.isICECharacters ? String(value) : nil
            default: break
            }
            index += 2
        }
        guard let addressKind = Self.kind(of: fields[4]) else { return nil }
        self.foundation = String(fields[0])
        self.component = UInt16(truncatingIfNeeded: component)
        self.transport = transport
        self.priority = UInt32(truncatingIfNeeded: priority)
        self.address = String(fields[4])
        self.addressKind = addressKind
        self.port = UInt16(truncatingIfNeeded: port)
        self.kind = kind
        self.relatedAddress = related.address
        self.relatedPort = related.port
        self.tcpType = tcpType
        self.usernameFragment = usernameFragment
    }

    /// Whether the ICE agent can try the candidate: component 1, UDP, a unicast address, a port.
    public var isUsable: Bool {
        guard component == 1, transport == .udp, port != 0, case .address(let address) = addressKind else {
            return false
        }
        return address.isUnicast
    }

    /// Whether the candidate would be usable if its name were resolved.
    public var isNamed: Bool {
        guard component == 1, transport == .udp, port != 0 else { return false }
        if case .address = addressKind { return false }
        return true
    }

    /// `candidate:...`, as browsers and libnice take it.
    public var text: String {
        var text =
            "candidate:\(foundation) \(component) \(transport.rawValue) \(priority) \(address) \(port) typ \(kind.rawValue)"
        if let relatedAddress, let relatedPort { text += " raddr \(relatedAddress) rport \(relatedPort)" }
        if let tcpType { text += " tcptype \(tcpType)" }
        if let usernameFragment { text += " ufrag \(usernameFragment)" }
        return text
    }

    var attribute: SDPAttribute { SDPAttribute("candidate", String(text.text.cut(at: UInt8(ascii: ":")).tail ?? "")) }

    private static func kind(of field: Substring) -> AddressKind? {
        if let address = IPAddress(field) { return .address(address) }
        let isName = field.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        // A name that ends in a number is a malformed IPv4 address.
        guard isName, let last = field.fields(separatedBy: UInt8(ascii: ".")).last, last.decimal(upTo: .max) == nil
        else { return nil }
        return last.equalsIgnoringCase("local") ? .multicastDNS : .hostName
    }
}
