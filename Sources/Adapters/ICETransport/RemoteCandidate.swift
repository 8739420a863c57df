internal import CNice
internal import Glibc

/// Why a candidate of the other side was not used.
public enum CandidateRefusal: Error, Hashable, Sendable {
    case malformed
    /// TCP candidates and other transports.
    case notUDP
    /// RTP and RTCP share one component here (RFC 5761).
    case otherComponent
    /// libnice would accept it; RFC 8445 section 5.1.2 starts at 1.
    case priorityZero
    /// A host name or an mDNS name; libnice would look it up.
    case hostName
    /// Unspecified, multicast or broadcast.
    case unusableAddress
    case tooMany
    case closed
}

/// A candidate of the other side, read from RFC 8839 section 5.1 text so strictly that the C library sees only values.
struct RemoteCandidate: Equatable {
    enum Kind: String { case host, srflx, prflx, relay }

    var foundation: String
    var priority: UInt32
    /// An IPv4 or IPv6 literal without a zone.
    var address: String
    var port: UInt16
    var kind: Kind

    /// - Parameter text: `candidate:...`, also with `a=` before it.
    init(_ text: String) throws(CandidateRefusal) {
        guard text.utf8.count <= 1_024 else { throw .malformed }
        var rest = Substring(text)
        if rest.hasPrefix("a=") { rest = rest.dropFirst(2) }
        guard rest.hasPrefix("candidate:") else { throw .malformed }
        let fields = rest.dropFirst("candidate:".count).split(separator: " ")
        guard fields.count >= 8, fields[6].lowercased() == "typ", let kind = Kind(rawValue: fields[7].lowercased())
        else { throw .malformed }
        guard (1...32).contains(fields[0].utf8.count), fields[0].utf8.allSatisfy(isICECharacter) else {
            throw .malformed
        }
        guard let component = UInt16(fields[1]) else { throw .malformed }
        guard component == 1 else { throw .otherComponent }
        guard fields[2].lowercased() == "udp" else { throw .notUDP }
        guard let priority = UInt32(fields[3]), priority <= 0x7fff_ffff else { throw .malformed }
        guard priority > 0 else { throw .priorityZero }
        guard let port = UInt16(fields[5]), port > 0 else { throw .malformed }
        foundation = String(fields[0])
        self.priority = priority
        address = String(fields[4])
        self.port = port
        self.kind = kind
        switch AddressUse(address) {
        case .unicast: break
        case .unusable: throw .unusableAddress
        case .notAnAddress: throw .hostName
        }
    }
}

/// What can be sent to the address that a text stands for.
enum AddressUse {
    case unicast, unusable, notAnAddress

    init(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            let bits = UInt32(bigEndian: four.s_addr)
            self = bits >> 24 == 0 || bits >> 28 >= 0xe ? .unusable : .unicast
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            let bytes = withUnsafeBytes(of: six) { Array($0) }
            let isUnspecified = bytes.allSatisfy { $0 == 0 }
            self = bytes[0] == 0xff || isUnspecified ? .unusable : .unicast
        } else {
            self = .notAnAddress
        }
    }
}

/// RFC 8839 section 5.1: ALPHA, DIGIT, "+" and "/".
func isICECharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2b, 0x2f: true
    default: false
    }
}
