internal import COpenSSL

/// An OpenSSL BIO in memory: reads take from the bytes that were lent, writes are collected. It keeps nothing between
/// two calls, so an idle connection has no buffers.
final class StreamBIO {
    /// Ciphertext that is to be sent.
    private var outgoing: [UInt8] = []
    /// What is left of the bytes to read; set only while OpenSSL runs, which takes all of them.
    private var incoming = UnsafeRawBufferPointer(start: nil, count: 0)
    /// How many further messages of a handshake OpenSSL may read; nil: any number.
    var messagesLeft: Int?

    var hasOutgoing: Bool { !outgoing.isEmpty }

    /// Runs `body`, in which OpenSSL can read `bytes`.
    func reading<Result>(_ bytes: UnsafeRawBufferPointer, _ body: () -> Result) -> Result {
        incoming = bytes
        defer { incoming = UnsafeRawBufferPointer(start: nil, count: 0) }
        return body()
    }

    func takeOutgoing() -> [UInt8] {
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

    /// Counts the messages that OpenSSL reads for `ssl`, which must not outlive this object.
    func watch(_ ssl: OpaquePointer) {
        cssl_watch(
            ssl,
            { isWritten, _, content, _, _, _, data in
                guard isWritten == 0, content == SSL3_RT_HANDSHAKE, let data else { return }
                let wire = Unmanaged<StreamBIO>.fromOpaque(data).takeUnretainedValue()
                if let left = wire.messagesLeft { wire.messagesLeft = left - 1 }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer) -> Int32? {
        guard !incoming.isEmpty else { return nil }
        let count = min(incoming.count, bytes.count)
        bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: incoming.prefix(count)))
        incoming = UnsafeRawBufferPointer(rebasing: incoming.dropFirst(count))
        return Int32(count)
    }

    private struct Method: @unchecked Sendable {
        // SAFETY: made once, never changed.
        let value: OpaquePointer?
    }

    private static func wire(of bio: OpaquePointer?) -> StreamBIO? {
        BIO_get_data(bio).map { Unmanaged<StreamBIO>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let method: Method = {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a stream in memory")
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let wire = wire(of: bio), let bytes, count > 0 else { return -1 }
            wire.outgoing.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        BIO_meth_set_read(method) { bio, bytes, count in
            cssl_bio_clear_retry(bio)
            guard let wire = wire(of: bio), let bytes, count > 0, wire.messagesLeft ?? 0 >= 0 else { return -1 }
            if let read = wire.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))) {
                return read
            }
            cssl_bio_set_retry_read(bio)
            return -1
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return Method(value: method)
    }()
}
