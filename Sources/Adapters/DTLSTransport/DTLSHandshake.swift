internal import COpenSSL
internal import LinuxRuntime
internal import MediaCore

/// One DTLS 1.2 handshake on OpenSSL 3.0, and the association that it makes. What it sends is taken by the owner, which
/// is free to drop it. Confined to one thread.
final class DTLSHandshake {
    enum Result {
        case waiting
        /// The peer has proved that it has the key of its certificate, which has not been compared yet.
        case complete
        case failed(DTLSFailure)
    }

    /// The largest datagram in bytes, with IPv4 and UDP headers.
    static let linkMTU = 1_200

    let role: DTLSSession.Role
    /// What tells the peer's hello from others: the beginning of a ClientHello, or the random of a ServerHello; nil
    /// before it.
    var peerHello: [UInt8]?
    /// When the handshake began.
    let began: MediaInstant
    let ssl: OpaquePointer
    private let wire = DatagramBIO()
    /// The number of the next plaintext record that OpenSSL gets.
    private var nextRecord: UInt64 = 0

    /// - Throws: `.library` if OpenSSL refuses.
    init(
        role: DTLSSession.Role, identity: DTLSIdentity, firstTimeout: MediaDuration, now: MediaInstant
    ) throws(DTLSFailure) {
        // The session holds the context, too.
        guard let ssl = SSL_new(identity.context) else { throw .library(DTLSSession.reason()) }
        guard let bio = wire.makeBIO() else {
            SSL_free(ssl)
            throw .library(DTLSSession.reason())
        }
        // The BIO is both reader and writer; OpenSSL takes one reference for both.
        SSL_set_bio(ssl, bio, bio)
        _ = cssl_set_link_mtu(ssl, Self.linkMTU)
        cssl_set_interval(ssl, UInt32(clamping: max(1, firstTimeout.nanoseconds / 1_000)))
        if role == .server { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
        self.role = role
        self.ssl = ssl
        began = now
    }

    deinit { SSL_free(ssl) }

    // MARK: The handshake

    /// Whether all of the peer's hello has been read.
    var hasHello: Bool {
        switch SSL_get_state(ssl) {
        case TLS_ST_BEFORE, TLS_ST_SR_CLNT_HELLO, TLS_ST_CW_CLNT_HELLO, DTLS_ST_CR_HELLO_VERIFY_REQUEST: return false
        default: return true
        }
    }

    /// Whether this server has sent its first flight and has read nothing of the answer.
    var isUnanswered: Bool {
        !hasHello || SSL_get_state(ssl) == TLS_ST_SW_SRVR_DONE
    }

    /// The cipher of the peer's Finished, if that is what comes next; nil otherwise.
    var finishedCipher: DTLSRecordFilter.Cipher? {
        guard [TLS_ST_SR_CHANGE, TLS_ST_CR_CHANGE].contains(SSL_get_state(ssl)) else { return nil }
        return Self.cipher(SSL_get_pending_cipher(ssl) ?? SSL_get_current_cipher(ssl))
    }

    private static func cipher(_ cipher: OpaquePointer?) -> DTLSRecordFilter.Cipher? {
        guard let cipher else { return nil }
        return SSL_CIPHER_get_cipher_nid(cipher) == NID_chacha20_poly1305 ? .chaCha20Poly1305 : .gcm
    }

    /// Begins as a client.
    func begin() -> Result { advance(with: nil) }

    /// Reads one record. Those in plaintext are numbered anew, as a forged number would make OpenSSL take the peer's
    /// own records for replays.
    func read(_ record: DTLSRecord, of datagram: UnsafeRawBufferPointer) -> Result {
        var bytes = Array(datagram[record.range])
        if record.epoch == 0 {
            for index in 0..<6 { bytes[5 + index] = UInt8(truncatingIfNeeded: nextRecord >> UInt64(40 - 8 * index)) }
            nextRecord &+= 1
        }
        return bytes.withUnsafeBytes { advance(with: $0) }
    }

    private func advance(with record: UnsafeRawBufferPointer?) -> Result {
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        return wire.reading(record) {
            let result = SSL_do_handshake(ssl)
            if result == 1 { return .complete }
            switch SSL_get_error(ssl, result) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .waiting
            default:
                // OpenSSL checks its timer in this call as well.
                let isLate = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_READ_TIMEOUT_EXPIRED
                return .failed(isLate ? .timeout : .handshake(DTLSSession.reason()))
            }
        }
    }

    /// Retransmits the last flight if that is due.
    func handleTimeout() -> Result {
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        return wire.reading(nil) { cssl_handle_timeout(ssl) } < 0 ? .failed(.timeout) : .waiting
    }

    /// When to call `handleTimeout`; nil while no retransmission is scheduled.
    var deadline: MediaInstant? {
        let left = cssl_timeout_microseconds(ssl)
        // OpenSSL's timer counts from now, so its instant needs a clock here.
        return left < 0 ? nil : MonotonicClock.now + .microseconds(Int(left))
    }

    func takeOutgoing() -> [[UInt8]] { wire.takeOutgoing() }

    // MARK: The association

    /// Gives back the record buffers, 32 KB, which are not needed between the few datagrams after the handshake.
    /// OpenSSL's own mode for that leaves DTLS out.
    func releaseBuffers() { SSL_free_buffers(ssl) }

    /// The cipher of the association; nil before the handshake is complete.
    var cipher: DTLSRecordFilter.Cipher? { Self.cipher(SSL_get_current_cipher(ssl)) }

    /// Writes close_notify, after which alerts can still be read.
    func makeCloseNotify() -> [[UInt8]] {
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        _ = wire.reading(nil) { SSL_shutdown(ssl) }
        return takeOutgoing()
    }

    enum Alert { case closeNotify, none, unreadable }

    /// Reads an alert after the handshake.
    /// - Returns: `.unreadable` if OpenSSL has failed and must not be used any more.
    func readAlert(_ record: DTLSRecord, of datagram: UnsafeRawBufferPointer) -> Alert {
        guard let cipher, DTLSRecordFilter.canBeAlert(record, with: cipher) else { return .none }
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        let alert = wire.reading(UnsafeRawBufferPointer(rebasing: datagram[record.range])) { () -> Alert in
            var byte: UInt8 = 0
            let result = SSL_read(ssl, &byte, 1)
            guard result <= 0 else { return .none }
            switch SSL_get_error(ssl, result) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .none
            case SSL_ERROR_ZERO_RETURN: return .closeNotify
            default: return .unreadable
            }
        }
        // An alert of this side would end the peer's association.
        _ = takeOutgoing()
        releaseBuffers()
        return alert
    }
}
