internal import CNice
import EventLoop
internal import Glibc
internal import LinuxRuntime
internal import MediaCore
import SessionDescription

/// A UDP socket that is bound to one address.
final class BoundSocket: DatagramSocket {
    let descriptor: Int32
    let address: String
    let port: UInt16
    private(set) var isOpen = true

    /// An address that cannot be bound, by its errno.
    private struct Refusal: Error {
        var code: Int32
    }

    private init(_ address: String, port: UInt16) throws(Refusal) {
        guard var place = sockaddr_storage(numeric: address, port: port) else { throw Refusal(code: EINVAL) }
        let family = Int32(place.ss_family)
        let opened = socket(
            family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard opened >= 0 else { throw Refusal(code: errno) }
        if family == AF_INET6 {
            var one: Int32 = 1
            setsockopt(opened, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, socklen_t(MemoryLayout<Int32>.size))
        }
        let length = cnice_address_length(&place)
        let bound = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(opened, $0, length) }
        }
        guard bound == 0 else {
            let refusal = Refusal(code: errno)
            Glibc.close(opened)
            throw refusal
        }
        // Bursts to all peers pass through one buffer.
        opened.enlargeSocketBuffers(to: 8 << 20)
        cnice_prepare_batches(opened)
        descriptor = opened
        self.address = address
        let own = sockaddr_storage(of: opened)
        self.port = withUnsafeBytes(of: own) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }

    deinit { close() }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }

    var isLoopback: Bool { IPAddress(address)?.isLoopback ?? false }

    /// Whether both are of one family.
    func canReach(_ place: sockaddr_storage) -> Bool { address.contains(":") == (Int32(place.ss_family) == AF_INET6) }

    /// Binds one port on all addresses. Those that the kernel does not let be used now are left out, such as an IPv6
    /// address that is still being checked for duplicates (RFC 4862 section 5.4).
    static func open(_ addresses: [String], port: UInt16) throws(ICEFailure) -> [BoundSocket] {
        // A free port of the first address may be taken on another one.
        for _ in 0..<(port == 0 ? 16 : 1) {
            var sockets: [BoundSocket] = []
            var isTaken = false
            for address in addresses where !isTaken {
                do throws(Refusal) {
                    sockets.append(try BoundSocket(address, port: sockets.first?.port ?? port))
                } catch {
                    isTaken = error.code == EADDRINUSE
                }
            }
            guard isTaken else {
                if !sockets.isEmpty { return sockets }
                throw ICEFailure("no UDP socket can be opened on \(addresses.joined(separator: ", "))")
            }
        }
        throw ICEFailure(port == 0 ? "no UDP port is free" : "UDP port \(port) is not free")
    }
}

extension sockaddr_storage {
    /// Nil unless it is a numeric address.
    init?(numeric address: String, port: UInt16) {
        self.init()
        switch IPAddress(address) {
        case .v4:
            var four = sockaddr_in()
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            guard inet_pton(AF_INET, address, &four.sin_addr) == 1 else { return nil }
            withUnsafeMutableBytes(of: &self) { $0.storeBytes(of: four, as: sockaddr_in.self) }
        case .v6:
            var six = sockaddr_in6()
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            guard inet_pton(AF_INET6, address, &six.sin6_addr) == 1 else { return nil }
            withUnsafeMutableBytes(of: &self) { $0.storeBytes(of: six, as: sockaddr_in6.self) }
        case nil: return nil
        }
    }
}
