internal import CNice
internal import EventLoop
internal import Glibc
internal import MediaCore

/// A UDP socket that sends.
protocol DatagramSocket: AnyObject {
    var descriptor: Int32 { get }
    var isOpen: Bool { get }
}

extension DatagramSocket {
    /// `address:port`.
    var endpoint: String { sockaddr_storage(of: descriptor).endpoint }
}

/// The socket and the destination of a direct pair, with the memory to send batches. Confined to the loop. Sending and
/// receiving do not allocate, whereas libnice allocates an error object each time that a socket is empty.
final class SelectedSocket {
    /// The most packets of one send; all kernel versions support 64.
    static let segmentLimit = 64
    /// Longer packets are sent one by one: they may exceed the device's MTU (over IPv6, with its headers), which the
    /// kernel does not segment, but fragments.
    private static let largestSegment = 1_452

    private let local: any DatagramSocket
    let descriptor: Int32
    private let address: UnsafeMutablePointer<sockaddr_storage>
    private let addressLength: socklen_t
    private let packets: UnsafeMutablePointer<iovec>
    private var canSegment = true

    /// - Parameter remote: the pair's remote end.
    init(_ local: any DatagramSocket, to remote: sockaddr_storage) {
        self.local = local
        descriptor = local.descriptor
        address = .allocate(capacity: 1)
        address.initialize(to: remote)
        addressLength = cnice_address_length(address)
        packets = .allocate(capacity: Self.segmentLimit)
        packets.initialize(repeating: iovec(), count: Self.segmentLimit)
    }

    deinit {
        address.deallocate()
        packets.deallocate()
    }

    var isOpen: Bool { local.isOpen }
    /// The destination of packets.
    var remote: UnsafePointer<sockaddr_storage> { UnsafePointer(address) }

    func isSame(_ other: SelectedSocket) -> Bool {
        descriptor == other.descriptor && cnice_is_same_address(address, other.address) != 0
    }

    func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 64)
        list.add(address, bytes: 32)
        list.add(packets, bytes: 16 * MemoryLayout<iovec>.stride)
    }

    /// Sends packets of `lengths` that lie `stride` bytes apart.
    func send(
        _ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>,
        counting counters: inout ICEAgent.Counters
    ) {
        var next = 0
        while next < lengths.count {
            let size = lengths[next]
            var count = 0
            var bytes = 0
            // A run of equal sizes, of which the last may be shorter, that fits in one datagram's size limit.
            let limit = canSegment && size <= Self.largestSegment ? Self.segmentLimit : 1
            while next + count < lengths.count, count < limit {
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
                // The buffer is full. Later packets would be late anyway; the other side requests retransmissions.
                counters.packetsDropped += lengths.count - next
                return
            case EIO, EINVAL, EMSGSIZE, EOPNOTSUPP, ENOPROTOOPT:
                if count == 1 {
                    counters.sendErrors += 1
                } else {
                    // The path does not support segmentation: packets are sent one by one from now on.
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
