import Foundation
import Glibc

extension NetworkNode {
    /// A TCP connection to a port of this node's own 127.0.0.1, for somebody outside: who steers a program in here.
    /// - Returns: the socket, which is the caller's.
    public func connect(port: Int) async throws -> Int32 {
        let path = path
        // The thread moves over and ends there; whoever uses the socket stays.
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try Self.connect(path, port) }) }
        }
    }

    private static func connect(_ path: String, _ port: Int) throws -> Int32 {
        let place = open(path, O_RDONLY | O_CLOEXEC)
        guard place >= 0 else { throw BedFailure("\(path): \(errno)") }
        defer { close(place) }
        // Not in Swift's view of the C library, which lacks the extensions that Linux made.
        guard let symbol = dlsym(nil, "setns") else { throw BedFailure("no setns") }
        let setns = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let anyNetwork: Int32 = 0x4000_0000
        guard setns(place, anyNetwork) == 0 else { throw BedFailure("setns: \(errno)") }
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let reason = errno
            close(file)
            throw BedFailure("127.0.0.1:\(port) in the node: \(String(cString: strerror(reason)))")
        }
        return file
    }
}
