internal import COpenSSL

/// The two ends of a BIO for DTLS: one read is one datagram, one write is one datagram.
///
/// What OpenSSL writes is queued, so that it is sent when OpenSSL is no longer on the stack.
final class DatagramBIO {
    /// A flight is a handful; what comes beyond is dropped, as a network would.
    static let outgoingLimit = 64

    private(set) var outgoing: [[UInt8]] = []
    /// Set while OpenSSL runs on it.
    private var incoming: UnsafeRawBufferPointer?

    /// Makes `body` read `datagram`.
    func reading<Result>(_ datagram: UnsafeRawBufferPointer?, _ body: () -> Result) -> Result {
        incoming = datagram
        defer { incoming = nil }
        return body()
    }

    func takeOutgoing() -> [[UInt8]] {
        defer { outgoing = [] }
        return outgoing
    }

    /// A BIO that does not own self: self must live longer. nil without memory.
    func makeBIO() -> OpaquePointer? {
        guard let method = Self.method.value, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer) -> Int32? {
        guard let datagram = incoming else { return nil }
        incoming = nil
        // Longer than OpenSSL's buffer: cut, as recv does; the record then fails its check.
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
            // IPv4 and UDP headers, which the link's MTU includes.
            case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: 28
            default: 0
            }
        }
        return Method(value: method)
    }()
}
