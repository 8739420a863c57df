/// An IP address in its text form, without zone.
public enum IPAddress: Hashable, Sendable {
    case v4([UInt8])
    case v6([UInt8])

    /// Parses dotted decimal or RFC 4291 section 2.2; nil for anything else.
    public init?(_ text: String) {
        self.init(text.text)
    }

    init?(_ text: Substring) {
        guard text.utf8.count <= 45 else { return nil }
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let bytes = Self.version6(text) else { return nil }
            self = .v6(bytes)
        } else {
            guard let bytes = Self.version4(text) else { return nil }
            self = .v4(bytes)
        }
    }

    /// Whether the address can belong to a host: not 0.0.0.0/8 (RFC 1122 section 3.2.1.3), not multicast, not
    /// broadcast.
    public var isUnicast: Bool {
        switch self {
        case .v4(let bytes): bytes[0] != 0 && bytes[0] < 224
        case .v6(let bytes): bytes[0] != 0xFF && bytes.contains { $0 != 0 }
        }
    }

    /// 127.0.0.0/8, and ::1 (RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3).
    public var isLoopback: Bool {
        switch self {
        case .v4(let bytes): bytes[0] == 127
        case .v6(let bytes): bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        }
    }

    /// 169.254.0.0/16, and fe80::/10 (RFC 3927, RFC 4291 section 2.5.6).
    public var isLinkLocal: Bool {
        switch self {
        case .v4(let bytes): bytes[0] == 169 && bytes[1] == 254
        case .v6(let bytes): bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
        }
    }

    /// Whether the address is loopback, link-local, private (RFC 1918, RFC 4193) or shared (RFC 6598), also as an
    /// IPv4-mapped one.
    public var isOfLocalNetwork: Bool {
        if isLoopback || isLinkLocal { return true }
        switch self {
        case .v4(let bytes):
            switch (bytes[0], bytes[1]) {
            case (10, _), (172, 16...31), (192, 168), (100, 64...127): return true
            default: return false
            }
        case .v6(let bytes):
            if bytes[0] & 0xFE == 0xFC { return true }
            let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return isMapped && IPAddress.v4(Array(bytes[12...])).isOfLocalNetwork
        }
    }

    /// Whether an IPv6 address represents an IPv4 address: IPv4-mapped and IPv4-compatible (RFC 4291 section 2.5.5),
    /// but not ::1.
    public var holdsIPv4: Bool {
        guard case .v6(let bytes) = self, bytes[..<10].allSatisfy({ $0 == 0 }) else { return false }
        return !isLoopback && (bytes[10] == 0xFF && bytes[11] == 0xFF || bytes[10] == 0 && bytes[11] == 0)
    }

    /// The IPv4 addresses that packets to an IPv6 address may reach through a translator or tunnel: IPv4-mapped and
    /// IPv4-compatible (RFC 4291 section 2.5.5), IPv4-translated (RFC 7915), NAT64 (RFC 6052 section 2.2, RFC 8215,
    /// whose prefix has any length from 48 bits on), and 6to4 (RFC 3056 section 2).
    public var embeddedIPv4: [IPAddress] {
        guard case .v6(let bytes) = self, !isLoopback else { return [] }
        func last() -> IPAddress { .v4(Array(bytes[12...])) }
        if bytes[..<8].allSatisfy({ $0 == 0 }) {
            switch (bytes[8], bytes[9], bytes[10], bytes[11]) {
            case (0, 0, 0xFF, 0xFF), (0, 0, 0, 0), (0xFF, 0xFF, 0, 0): return [last()]
            default: return []
            }
        }
        if Array(bytes[..<4]) == [0, 0x64, 0xFF, 0x9B] {
            if bytes[4..<12].allSatisfy({ $0 == 0 }) { return [last()] }
            guard bytes[4] == 0, bytes[5] == 1 else { return [] }
            // Byte 8 is not part of the IPv4 address.
            let all = [
                [bytes[6], bytes[7], bytes[9], bytes[10]], [bytes[7], bytes[9], bytes[10], bytes[11]],
                Array(bytes[9..<13]),
            ]
            return all.map { .v4($0) } + [last()]
        }
        return bytes[0] == 0x20 && bytes[1] == 0x02 ? [.v4(Array(bytes[2..<6]))] : []
    }

    /// Whether clouds answer requests of the machines themselves at this address, with keys among the answers: instance
    /// metadata of Amazon, Google, Microsoft, Oracle and Alibaba.
    public var isInstanceMetadata: Bool {
        switch self {
        case .v4(let bytes):
            [[169, 254, 169, 254], [169, 254, 170, 2], [168, 63, 129, 16], [192, 0, 0, 192], [100, 100, 100, 200]]
                .contains(bytes)
        case .v6(let bytes):
            // fd00:ec2::/32, and fd20:ce::254.
            Array(bytes[..<4]) == [0xFD, 0, 0x0E, 0xC2]
                || bytes == [0xFD, 0x20, 0, 0xCE] + [UInt8](repeating: 0, count: 10) + [2, 0x54]
        }
    }

    private static func version4(_ text: Substring) -> [UInt8]? {
        let parts = text.fields(separatedBy: UInt8(ascii: "."), keepsEmpty: true)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            // C libraries parse a leading zero as octal: 010.0.0.1 would be another address there (RFC 6943 section
            // 3.1.1).
            guard part.utf8.count <= 3, part.utf8.first != UInt8(ascii: "0") || part.utf8.count == 1,
                let value = part.decimal(upTo: 255)
            else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: value))
        }
        return bytes
    }

    private static func version6(_ text: Substring) -> [UInt8]? {
        let groups = text.fields(separatedBy: UInt8(ascii: ":"), keepsEmpty: true)
        guard groups.count >= 3, groups.count <= 9 else { return nil }
        var head: [UInt8] = []
        var tail: [UInt8]?
        for (index, group) in groups.enumerated() {
            var part: [UInt8]
            if group.isEmpty {
                // An empty part at either end belongs to a `::` there.
                if index == 0 {
                    guard groups[1].isEmpty else { return nil }
                    continue
                }
                if index == groups.count - 1 {
                    guard groups[index - 1].isEmpty else { return nil }
                    continue
                }
                guard tail == nil else { return nil }
                tail = []
                continue
            } else if index == groups.count - 1, group.utf8.contains(UInt8(ascii: ".")) {
                guard let bytes = version4(group) else { return nil }
                part = bytes
            } else {
                guard group.utf8.count <= 4 else { return nil }
                var value: UInt16 = 0
                for byte in group.utf8 {
                    guard let digit = byte.hexValue else { return nil }
                    value = value << 4 | UInt16(digit)
                }
                part = [UInt8(value >> 8), UInt8(value & 255)]
            }
            if tail == nil { head += part } else { tail?.append(contentsOf: part) }
        }
        guard let tail else { return head.count == 16 ? head : nil }
        guard head.count + tail.count <= 14 else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }
}
