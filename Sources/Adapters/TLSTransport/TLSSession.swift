internal import COpenSSL

/// One TLS connection on OpenSSL 3.0 (RFC 8446, RFC 5246), without a socket: what arrives is handed in, and what it sends
/// is taken by the owner. Confined to one thread.
public final class TLSSession {
    public enum Progress: Equatable {
        /// More has to arrive.
        case open
        /// The peer has sent close_notify: nothing more will come.
        case closed
        /// Nothing more can be read or written. What is left to send tells the peer why.
        case failed(TLSFailure)
    }

    /// The most plaintext of a record (RFC 8446 section 5.1).
    private static let longestRecord = 16_384
    /// How many messages of a handshake a peer may send after it: tickets, which nobody needs here, and requests for new
    /// keys, which OpenSSL does not limit. Each costs as much as a hundred records. Real peers send a few.
    private static let furtherMessages = 32
    /// So many bytes of plaintext allow another such message.
    private static let bytesOfMessage = 65_536

    let ssl: OpaquePointer
    private let wire = StreamBIO()
    private let accepts: ((_ certificate: [UInt8]) -> Bool)?
    /// This end begins.
    public let isClient: Bool
    /// The handshake is complete, and the peer's certificate accepted.
    public private(set) var isEstablished = false
    private var hasFailed = false
    /// Bytes of plaintext that count for no message yet.
    private var received = 0

    /// The server's end of a connection.
    public convenience init(server context: TLSContext) throws(TLSFailure) {
        try self.init(context, isClient: false, nil)
        SSL_set_accept_state(ssl)
    }

    /// The client's end of a connection.
    /// - Parameters:
    ///   - host: a name, which is sent to the server (SNI), or a numeric address.
    ///   - accepts: called with the server's certificate (DER) when the server has proved that it has its key; nil: the
    ///     context alone decides, which then has authorities.
    public convenience init(
        client context: TLSContext, host: String, accepts: ((_ certificate: [UInt8]) -> Bool)? = nil
    ) throws(TLSFailure) {
        precondition(context.checksHost || accepts != nil, "nothing decides about the certificate")
        try self.init(context, isClient: true, accepts)
        SSL_set_connect_state(ssl)
        // Certificates and SNI have neither the dot at the end of a complete name nor the zone of an address.
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        let address = String(host.prefix { $0 != "%" })
        let parameters = X509_VERIFY_PARAM_new()
        defer { X509_VERIFY_PARAM_free(parameters) }
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, address) == 1 {
            guard !context.checksHost || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address) == 1 else {
                throw .library(TLSContext.reason())
            }
            return
        }
        guard cssl_set_server_name(ssl, host) == 1 else { throw .library(TLSContext.reason()) }
        guard context.checksHost else { return }
        SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        guard SSL_set1_host(ssl, host) == 1 else { throw .library(TLSContext.reason()) }
    }

    private init(
        _ context: TLSContext, isClient: Bool, _ accepts: ((_ certificate: [UInt8]) -> Bool)?
    ) throws(TLSFailure) {
        ERR_clear_error()
        // The session holds the context, too.
        guard let ssl = SSL_new(context.context) else { throw .library(TLSContext.reason()) }
        guard let bio = wire.makeBIO() else {
            SSL_free(ssl)
            throw .library(TLSContext.reason())
        }
        // The BIO is both reader and writer; OpenSSL takes one reference for both.
        SSL_set_bio(ssl, bio, bio)
        wire.watch(ssl)
        self.ssl = ssl
        self.isClient = isClient
        self.accepts = accepts
    }

    deinit { SSL_free(ssl) }

    /// Reads what has arrived, all of it. A client calls it once with nothing, to begin.
    /// - Parameter take: called with each piece of plaintext. It must not call the session.
    public func receive(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void) -> Progress {
        guard !hasFailed else { return .failed(.record("it has failed before")) }
        ERR_clear_error()
        let progress = wire.reading(bytes) { () -> Progress in
            if !isEstablished {
                let progress = shakeHands()
                guard isEstablished else { return progress }
            }
            return read(take)
        }
        if case .failed = progress { hasFailed = true }
        return progress
    }

    private func shakeHands() -> Progress {
        let result = SSL_do_handshake(ssl)
        guard result == 1 else {
            guard SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ else { return .failed(handshakeFailure) }
            return .open
        }
        if let accepts {
            guard accepts(peerCertificate) else {
                // The end of the handshake is not sent.
                _ = wire.takeOutgoing()
                return .failed(.refusedCertificate)
            }
        }
        isEstablished = true
        wire.messagesLeft = Self.furtherMessages
        return .open
    }

    private var handshakeFailure: TLSFailure {
        switch Int32(clamping: SSL_get_verify_result(ssl)) {
        case X509_V_OK: .handshake(TLSContext.reason())
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .certificate(.otherName)
        case X509_V_ERR_CERT_HAS_EXPIRED: .certificate(.expired)
        case X509_V_ERR_CERT_NOT_YET_VALID: .certificate(.notYetValid)
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .certificate(.weak)
        default: .certificate(.untrusted)
        }
    }

    /// DER; empty if there is none.
    private var peerCertificate: [UInt8] {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return [] }
        defer { X509_free(certificate) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &bytes)
        defer { cssl_free(bytes) }
        return count > 0 ? Array(UnsafeBufferPointer(start: bytes, count: Int(count))) : []
    }

    private func read(_ take: (UnsafeRawBufferPointer) -> Void) -> Progress {
        withUnsafeTemporaryAllocation(byteCount: Self.longestRecord, alignment: 16) { piece in
            while true {
                let count = SSL_read(ssl, piece.baseAddress, Int32(piece.count))
                if count > 0 {
                    received += Int(count)
                    if received >= Self.bytesOfMessage, let left = wire.messagesLeft {
                        wire.messagesLeft = left + received / Self.bytesOfMessage
                        received %= Self.bytesOfMessage
                    }
                    take(UnsafeRawBufferPointer(rebasing: piece.prefix(Int(count))))
                    continue
                }
                switch SSL_get_error(ssl, count) {
                case SSL_ERROR_WANT_READ: return .open
                case SSL_ERROR_ZERO_RETURN: return .closed
                default:
                    let asksTooOften = wire.messagesLeft.map { $0 < 0 } ?? false
                    return .failed(.record(asksTooOften ? "new keys too often" : TLSContext.reason()))
                }
            }
        }
    }

    /// Encrypts bytes, after the handshake. Fails while a message of the handshake has come in part: OpenSSL then waits for the
    /// rest of it, for which a peer could have it wait for ever.
    public func send(_ bytes: UnsafeRawBufferPointer) throws(TLSFailure) {
        guard !hasFailed, isEstablished else { throw .record("it has failed before") }
        var left = bytes
        ERR_clear_error()
        while !left.isEmpty {
            let count = SSL_write(ssl, left.baseAddress, Int32(clamping: left.count))
            guard count > 0 else {
                hasFailed = true
                let waits = SSL_get_error(ssl, count) == SSL_ERROR_WANT_READ
                throw .record(waits ? "a message does not end" : TLSContext.reason())
            }
            left = UnsafeRawBufferPointer(rebasing: left.dropFirst(Int(count)))
        }
    }

    /// Writes close_notify. What the peer still sends can be read.
    public func close() {
        guard isEstablished, !hasFailed else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
    }

    public var hasOutgoing: Bool { wire.hasOutgoing }

    /// What has to be sent to the peer.
    public func takeOutgoing() -> [UInt8] { wire.takeOutgoing() }
}
