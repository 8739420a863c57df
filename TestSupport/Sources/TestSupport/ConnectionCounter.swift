import Foundation
import Glibc
import Synchronization

/// A TCP port on loopback that closes each connection at once, and counts them. Ends when the value is released.
public final class ConnectionCounter: Sendable {
    public struct Failure: Error {}

    /// Shared with the thread, which outlives the value by a moment.
    private final class Counter: Sendable {
        let times = Mutex<[ContinuousClock.Instant]>([])
    }

    public let port: Int
    private let socket: Int32
    private let counter = Counter()

    /// When the connections came.
    public var times: [ContinuousClock.Instant] { counter.times.withLock { $0 } }
    public var count: Int { times.count }

    public init() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw Failure() }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 64) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isOpen else {
            close(socket)
            throw Failure()
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        self.socket = socket
        let counter = counter
        Thread.detachNewThread {
            while true {
                let peer = accept(socket, nil, nil)
                guard peer >= 0 else { break }
                counter.times.withLock { $0.append(.now) }
                close(peer)
            }
            close(socket)
        }
    }

    /// The thread's `accept` returns.
    deinit { shutdown(socket, Int32(SHUT_RDWR)) }
}
