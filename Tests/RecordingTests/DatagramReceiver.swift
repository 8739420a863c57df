import Glibc

/// A UDP socket on loopback, on a free port.
final class DatagramReceiver {
    private let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    let port: Int

    struct Failure: Error {}

    init() throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = socket
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard result == 0 else { throw Failure() }
        port = Int(UInt16(bigEndian: address.sin_port))
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(socket) }

    /// The datagrams that have arrived.
    func takeAll() -> [[UInt8]] {
        var result: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 2_048)
        while true {
            let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count >= 0 else { return result }
            result.append(Array(buffer[..<count]))
        }
    }
}
