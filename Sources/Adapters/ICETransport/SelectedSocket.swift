internal import CNice
internal import Glibc

/// The socket and the destination of a direct pair, and the memory to send batches through it.
/// Confined to the loop. Neither sending nor receiving allocates, where libnice's own receiving makes an error object each time
/// that it has read all there is.
final class SelectedSocket {
    /// Of one send; the kernel takes 64 in all versions.
    static let segmentLimit = 64

    private let socket: UnsafeMutablePointer<GSocket>
    private let address: UnsafeMutablePointer<sockaddr_storage>
    private let addressLength: socklen_t
    private let packets: UnsafeMutablePointer<iovec>
    private var canSegment = true

    /// - Parameter socket: is released with self.
    init?(owning socket: UnsafeMutablePointer<GSocket>, remote: UnsafePointer<NiceAddress>) {
        let version = nice_address_ip_version(remote)
        guard version == 4 || version == 6 else {
            g_object_unref(socket)
            return nil
        }
        self.socket = socket
        address = .allocate(capacity: 1)
        address.initialize(to: sockaddr_storage())
        nice_address_copy_to_sockaddr(
            remote, UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self))
        addressLength = socklen_t(version == 4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
        packets = .allocate(capacity: Self.segmentLimit)
        packets.initialize(repeating: iovec(), count: Self.segmentLimit)
        // A key frame is a burst of hundreds of packets; the kernel cuts this to its own limit.
        var size: Int32 = 1 << 20
        setsockopt(g_socket_get_fd(socket), SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(g_socket_get_fd(socket), SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        g_object_unref(socket)
        address.deallocate()
        packets.deallocate()
    }

    /// libnice closes a socket that failed; its descriptor may then be someone else's.
    var isOpen: Bool { g_socket_is_closed(socket) == 0 }

    var descriptor: Int32 { g_socket_get_fd(socket) }

    /// Gives out what has come from the pair's other end, up to the first STUN message, which is libnice's.
    /// - Parameter limit: datagrams at most.
    /// - Returns: false if the next datagram is libnice's.
    func receive(
        into room: UnsafeMutableRawBufferPointer, limit: Int, _ body: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        for _ in 0..<limit {
            guard isOpen else { return false }
            let length = cnice_receive_media(descriptor, address, room.baseAddress, room.count)
            guard length > 0 else { return length == 0 }
            guard body(UnsafeRawBufferPointer(rebasing: room[..<length])) else { return true }
        }
        return true
    }

    /// Sends packets of `lengths` that lie `stride` bytes apart.
    func send(
        _ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>,
        counting counters: inout ICEAgent.Counters
    ) {
        let descriptor = descriptor
        var next = 0
        while next < lengths.count {
            let size = lengths[next]
            var count = 0
            var bytes = 0
            // A run: equal sizes, of which the last may be shorter, in one datagram's worth of bytes.
            while next + count < lengths.count, count < (canSegment ? Self.segmentLimit : 1) {
                let length = lengths[next + count]
                guard length <= size, bytes + length <= 65_000 else { break }
                packets[count].iov_base = UnsafeMutableRawPointer(mutating: base + (next + count) * stride)
                packets[count].iov_len = length
                bytes += length
                count += 1
                if length < size { break }
            }
            if count == 0 {
                counters.sendErrors += 1
                next += 1
                continue
            }
            let failure = cnice_send_segments(
                descriptor, address, addressLength, packets, count, UInt16(truncatingIfNeeded: size))
            switch failure {
            case 0:
                counters.packetsSent += count
                counters.bytesSent += bytes
                if count > 1 { counters.segmentedSends += 1 }
            case EAGAIN, ENOBUFS:
                // Full: what comes later would be late anyway; the other side asks again for what it misses.
                counters.packetsDropped += lengths.count - next
                return
            case EIO, EINVAL, EMSGSIZE, EOPNOTSUPP, ENOPROTOOPT:
                if count == 1 {
                    counters.sendErrors += 1
                } else {
                    // No segmentation on this path: one by one from here on.
                    canSegment = false
                    continue
                }
            default:
                counters.sendErrors += count
            }
            next += count
        }
    }
}
