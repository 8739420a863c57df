/// An address as the limits count it: the whole IPv4 address, or the /64 prefix of an IPv6 address; or a network of
/// such prefixes.
package struct AddressKey: Hashable, Sendable {
    /// The first bytes in network order. The top bit is set for IPv6.
    private let bits: UInt64
    /// Of the prefix: 32 for IPv4; 64, 56 or 48 for IPv6.
    private let length: UInt8

    private init(bits: UInt64, length: UInt8) {
        self.bits = bits
        self.length = length
    }

    /// - Parameter ipv4: in network order.
    package init(ipv4: UInt32) { self.init(bits: UInt64(UInt32(bigEndian: ipv4)), length: 32) }

    /// - Parameter ipv6Prefix: the first eight bytes, in network order.
    package init(ipv6Prefix: UInt64) { self.init(bits: UInt64(bigEndian: ipv6Prefix) | 1 << 63, length: 64) }

    /// The networks around an IPv6 address that are often one customer's or one site's: its /56 and its /48.
    package var networks: [AddressKey] {
        guard length == 64 || length == 56 else { return [] }
        let site = AddressKey(bits: bits & ~0xFFFF, length: 48)
        return length == 56 ? [site] : [AddressKey(bits: bits & ~0xFF, length: 56), site]
    }

    /// How many times the share of an address this may have: four times for a /56, sixteen times for a /48.
    package var shares: Int {
        switch length {
        case 56: 4
        case 48: 16
        default: 1
        }
    }

    /// Whether an address is this one, or in this network.
    package func contains(_ address: AddressKey) -> Bool { address == self || address.networks.contains(self) }
}
