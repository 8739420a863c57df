import Foundation

/// Sockets from any address of the loopback network.
enum LoopbackSocket {
    /// Connects to 127.0.0.1; does not wait for TCP.
    /// - Parameter kind: `SOCK_DGRAM` or `SOCK_STREAM`.
    /// - Returns: -1 if it cannot.
    static func connected(_ kind: __socket_type, from address: String, to port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(kind.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let isBound = with(address, 0) { bind(descriptor, $0, $1) } == 0
        let code = with("127.0.0.1", port) { connect(descriptor, $0, $1) }
        guard isBound, code == 0 || errno == EINPROGRESS else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// A UDP port that was free a moment ago on all addresses; 0 if there is none.
    static func freePort() -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        guard with("0.0.0.0", 0, { bind(descriptor, $0, $1) }) == 0 else { return 0 }
        var place = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: place.sin_port)
    }

    private static func with(
        _ address: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        inet_pton(AF_INET, address, &place.sin_addr)
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
