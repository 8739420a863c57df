import Glibc
import NIOCore

/// Where a connection comes from.
struct PeerAddress: Sendable {
    /// Without port; IPv4 in IPv6 as IPv4.
    let text: String
    let key: AddressKey

    init(_ address: SocketAddress?) {
        var text = address?.ipAddress ?? "unknown"
        if text.hasPrefix("::ffff:"), text.contains(".") { text.removeFirst("::ffff:".count) }
        self.text = text
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            key = AddressKey(ipv4: four.s_addr)
        } else if inet_pton(AF_INET6, String(text.prefix(while: { $0 != "%" })), &six) == 1 {
            key = AddressKey(ipv6Prefix: withUnsafeBytes(of: six) { $0.loadUnaligned(as: UInt64.self) })
        } else {
            key = AddressKey(ipv4: 0)
        }
    }
}
