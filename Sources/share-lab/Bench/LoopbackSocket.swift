import Glibc

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
        var place = [UInt8](repeating: 0, count: placeSize)
        var length = socklen_t(placeSize)
        _ = place.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { getsockname(descriptor, $0.assumingMemoryBound(to: sockaddr.self), &length) }
        }
        return UInt16(place[2]) << 8 | UInt16(place[3])
    }

    /// The bytes of `sockaddr_in`, which belongs to the headers of libnice in this module: family, port, address.
    private static let placeSize = 16

    /// Calls a function with the place of an IPv4 address.
    /// - Returns: -1 if there is no such address.
    static func with(
        _ address: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var place = [UInt8](repeating: 0, count: placeSize)
        return place.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return -1 }
            bytes.storeBytes(of: sa_family_t(AF_INET), as: sa_family_t.self)
            bytes.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
            guard inet_pton(AF_INET, address, base + 4) == 1 else { return -1 }
            return body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(placeSize))
        }
    }
}
