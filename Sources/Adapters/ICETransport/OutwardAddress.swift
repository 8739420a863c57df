internal import CNice
internal import Glibc

/// Returns the local IPv4 address of the default route; nil if there is no route.
func outwardAddress() -> String? {
    let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return nil }
    defer { close(socket) }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = UInt16(9).bigEndian
    // An address of RFC 5737. Connecting a UDP socket to it selects the route and sends nothing.
    place.sin_addr.s_addr = UInt32(0xC000_0201).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isKnown = withUnsafeMutablePointer(to: &place) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
        }
    }
    guard isKnown else { return nil }
    return withUnsafeBytes(of: place.sin_addr.s_addr) { $0.map { "\($0)" }.joined(separator: ".") }
}
