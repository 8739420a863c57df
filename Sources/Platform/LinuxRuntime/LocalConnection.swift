internal import CLinux
internal import Glibc

/// One end of a connection between two processes: bytes in order, and descriptors with them (unix(7), SCM_RIGHTS).
/// Never blocks. Closed with the value.
public final class LocalConnection: Sendable {
    public enum Result: Equatable, Sendable {
        case done(Int)
        /// The other side does not read, or has written nothing.
        case wouldBlock
        /// The other side has closed the connection, or is gone.
        case closed
    }

    public let descriptor: Int32

    /// - Parameter descriptor: of a stream socket; owned by the value from now on.
    public init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Makes two connected ends, which programs that are started do not inherit; nil if no descriptors are left.
    public static func pair() -> (LocalConnection, LocalConnection)? {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            return nil
        }
        return (LocalConnection(ends[0]), LocalConnection(ends[1]))
    }

    /// Sends as many bytes as fit.
    /// - Parameter attachment: a descriptor that goes with the first of them; nil for none. It stays open here.
    public func send(_ bytes: UnsafeRawBufferPointer, attachment: Int32? = nil) -> Result {
        let count = clinux_send(descriptor, bytes.baseAddress, bytes.count, attachment ?? -1)
        if count >= 0 { return .done(count) }
        return errno == EAGAIN || errno == EINTR ? .wouldBlock : .closed
    }

    /// Receives as many bytes as there are.
    /// - Parameter attachment: gets the descriptor that came with them, which the caller closes; nil for none.
    public func receive(into bytes: UnsafeMutableRawBufferPointer, attachment: inout Int32?) -> Result {
        var file: Int32 = -1
        let count = clinux_receive(descriptor, bytes.baseAddress, bytes.count, &file)
        attachment = file >= 0 ? file : nil
        if count > 0 { return .done(count) }
        if count == 0 { return .closed }
        return errno == EAGAIN || errno == EINTR ? .wouldBlock : .closed
    }
}
