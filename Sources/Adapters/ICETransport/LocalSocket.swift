internal import CNice
internal import EventLoop
internal import Glibc

/// One UDP socket of an agent. Confined to the loop.
final class LocalSocket: DatagramSocket {
    enum Event {
        /// A datagram from the remote end that is not STUN; lent for the call, at the start of the buffer.
        case media(UnsafeMutableRawBufferPointer)
        /// RTP or RTCP from the unverified address; lent for the call, at the start of the buffer.
        case mediaFromUnverifiedAddress(UnsafeMutableRawBufferPointer)
        /// A datagram with the transaction of an own check; borrowed for the call.
        case checkResponse(UnsafeRawBufferPointer)
        /// A datagram from elsewhere that is not STUN; libnice reads it.
        case other(sockaddr_storage)
    }

    private let socket: UnsafeMutablePointer<GSocket>
    let descriptor: Int32

    /// - Parameter socket: released with self.
    init(owning socket: UnsafeMutablePointer<GSocket>) {
        self.socket = socket
        descriptor = g_socket_get_fd(socket)
    }

    deinit { g_object_unref(socket) }

    /// libnice closes a failed socket; its descriptor may then belong to another file.
    var isOpen: Bool { g_socket_is_closed(socket) == 0 }

    /// Reads media from `remote` and `other`, and answers to `checks`, without libnice. Stops at the first other
    /// datagram.
    /// - Parameters:
    ///   - remote: the pair's remote end; nil if the pair has another socket.
    ///   - other: another source; nil for none.
    ///   - limit: the most datagrams to read.
    ///   - body: returns false to stop.
    /// - Returns: false if libnice has to read the next datagram. Allocates: never.
    func receive(
        from remote: UnsafePointer<sockaddr_storage>?, or other: UnsafePointer<sockaddr_storage>?,
        into room: UnsafeMutableRawBufferPointer, checks: ConsentChecks?, limit: Int, _ body: (Event) -> Bool
    ) -> Bool {
        var peer = sockaddr_storage()
        for _ in 0..<limit {
            guard isOpen else { return false }
            var length = 0
            let kind = cnice_receive(
                descriptor, remote, other, checks?.pending, &peer, room.baseAddress, room.count, &length)
            let datagram = UnsafeMutableRawBufferPointer(rebasing: room[..<length])
            switch kind {
            case CNICE_NOTHING: return true
            case CNICE_MEDIA: if !body(.media(datagram)) { return true }
            case CNICE_OTHER_MEDIA: if !body(.mediaFromUnverifiedAddress(datagram)) { return true }
            case CNICE_ANSWER: if !body(.checkResponse(UnsafeRawBufferPointer(datagram))) { return true }
            case CNICE_OTHER:
                _ = body(.other(peer))
                return false
            default: return false
            }
        }
        return true
    }
}

extension sockaddr_storage {
    /// The address that a socket is bound to.
    init(of descriptor: Int32) {
        self.init()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = withUnsafeMutablePointer(to: &self) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
    }

    /// `address:port`, with brackets around IPv6; "?" for other families.
    var endpoint: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            guard let base = text.baseAddress else { return "?" }
            base.initialize(repeating: 0, count: text.count)
            return withUnsafePointer(to: self) { storage in
                switch Int32(ss_family) {
                case AF_INET:
                    storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
                        withUnsafePointer(to: four.pointee.sin_addr) {
                            _ = inet_ntop(AF_INET, $0, base, socklen_t(text.count))
                        }
                        return "\(String(cString: base)):\(UInt16(bigEndian: four.pointee.sin_port))"
                    }
                case AF_INET6:
                    storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
                        withUnsafePointer(to: six.pointee.sin6_addr) {
                            _ = inet_ntop(AF_INET6, $0, base, socklen_t(text.count))
                        }
                        return "[\(String(cString: base))]:\(UInt16(bigEndian: six.pointee.sin6_port))"
                    }
                default: "?"
                }
            }
        }
    }
}
