internal import COpenSSL

/// An OpenSSL BIO in memory that keeps datagram boundaries: each read and each write is one datagram.
///
/// Datagrams that OpenSSL writes are queued, and sent when OpenSSL is no longer on the stack.
final class DatagramBIO {
    /// Capacity of the queue. A flight has a handful of datagrams; any beyond the limit are dropped, as on a network.
    static let outgoingLimit = 64

    private(set) var outgoing: [[UInt8]] = []
    /// The datagram to read; set only while OpenSSL runs.
    private var incoming: UnsafeRawBufferPointer?

    /// Runs `body`, in which OpenSSL can read `datagram`.
    func reading<Result>(_ datagram: UnsafeRawBufferPointer?, _ body: () -> Result) -> Result {
        incoming = datagram
        defer { incoming = nil }
        return body()
    }

    func takeOutgoing() -> [[UInt8]] {
        defer { outgoing = [] }
        return outgoing
    }

    /// Creates a BIO with an unretained reference to self, which must outlive it.
    /// - Returns: nil if there is no memory.
    func makeBIO() -> OpaquePointer? {
        guard let method = Self.method.value, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer) -> Int32? {
        guard let datagram = incoming else { return nil }
        incoming = nil
        // A datagram that exceeds OpenSSL's buffer is truncated, as with `recv`; its record then fails authentication.
        let count = min(datagram.count, bytes.count)
        bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: datagram.prefix(count)))
        return Int32(count)
    }

    private func write(_ bytes: UnsafeRawBufferPointer) {
        if outgoing.count < Self.outgoingLimit { outgoing.append(Array(bytes)) }
    }

    private struct Method: @unchecked Sendable {
        // SAFETY: made once, never changed.
        let value: OpaquePointer?
    }

    private static func wire(of bio: OpaquePointer?) -> DatagramBIO? {
        BIO_get_data(bio).map { Unmanaged<DatagramBIO>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let method: Method = {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams in memory")
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let wire = wire(of: bio), let bytes, count > 0 else { return -1 }
            wire.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        BIO_meth_set_read(method) { bio, bytes, count in
            cssl_bio_clear_retry(bio)
            guard let wire = wire(of: bio), let bytes, count > 0 else { return -1 }
            if let read = wire.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))) {
                return read
            }
            cssl_bio_set_retry_read(bio)
            return -1
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            switch command {
            case BIO_CTRL_FLUSH: 1
            // The link MTU includes the IPv4 and UDP headers.
            case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: 28
            default: 0
            }
        }
        return Method(value: method)
    }()
}
