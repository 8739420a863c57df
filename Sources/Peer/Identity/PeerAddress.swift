import Glibc
package import Identifiers

/// The remote address of a connection.
package struct PeerAddress: Hashable, Sendable {
    /// Without port. IPv4-mapped IPv6 addresses are written as IPv4.
    package let text: String
    package let key: AddressKey

    /// - Parameter address: numeric, without port and brackets; may have a zone.
    package init(_ address: String) {
        var text = address
        if text.hasPrefix("::ffff:"), text.contains(".") { text.removeFirst("::ffff:".count) }
        self.text = text
        if let four = Self.parse(text, AF_INET, as: UInt32.self) {
            key = AddressKey(ipv4: four)
        } else if let six = Self.parse(String(text.prefix(while: { $0 != "%" })), AF_INET6, as: UInt64.self) {
            key = AddressKey(ipv6Prefix: six)
        } else {
            key = AddressKey(ipv4: 0)
        }
    }

    /// Returns the first bytes of an address; nil if `text` is not an address of that family.
    private static func parse<Number: FixedWidthInteger>(_ text: String, _ family: Int32, as _: Number.Type) -> Number?
    {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
            guard inet_pton(family, text, bytes.baseAddress) == 1 else { return nil }
            return bytes.loadUnaligned(as: Number.self)
        }
    }
}
