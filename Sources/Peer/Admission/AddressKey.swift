/// An address as the limits count it: the whole IPv4 address, or the /64 prefix of an IPv6 address.
package struct AddressKey: Hashable, Sendable {
    private let bytes: UInt64

    init(ipv4: UInt32) { bytes = UInt64(ipv4) }
    init(ipv6Prefix: UInt64) { bytes = ipv6Prefix | 1 << 63 }
}
