internal import COpenSSL
internal import LinuxRuntime
public import MediaCore

/// A DTLS 1.2 association that yields SRTP keys (DTLS-SRTP, RFC 5764), on OpenSSL 3.0.
///
/// The caller sends and receives its datagrams, and calls `handleTimeout` at `deadline`. Callbacks run within its
/// methods when OpenSSL is no longer on the stack, and may call the session again.
/// - Isolation: confined to one thread.
public final class DTLSSession {
    public enum Role: Sendable { case server, client }

    public enum Event: Sendable {
        /// The handshake is complete and the peer's certificate matches, so media may flow. Sent once.
        case connected(SRTPKeys)
        /// The final event, before or instead of `connected`.
        case failed(DTLSFailure)
        /// The final event: the peer closed the association after `connected`.
        case closed
    }

    private enum State { case handshaking, connected, ended }

    /// The largest datagram in bytes, with IPv4 and UDP headers.
    static let linkMTU = 1_200

    /// When to call `handleTimeout`; nil while no retransmission is scheduled.
    public private(set) var deadline: MediaInstant?
    /// SHA-256 of the peer's certificate; nil before the handshake is complete.
    public private(set) var peerFingerprint: [UInt8]?

    /// Fingerprints of the peer's certificate by other hash functions, all of which must match (RFC 8122).
    /// The length gives the function: 20 SHA-1, 28 SHA-224, 32 SHA-256, 48 SHA-384, 64 SHA-512; another length never
    /// matches.
    public var furtherFingerprints: [[UInt8]] = []

    private let role: Role
    private let expectedFingerprint: [UInt8]?
    private let wire = DatagramBIO()
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private var send: (UnsafeRawBufferPointer) -> Void
    private var onEvent: (Event) -> Void
    private var state = State.handshaking

    /// - Parameters:
    ///   - role: the DTLS role. `.server` answers `setup:passive` and chooses the SRTP profile: GCM-128 first.
    ///   - privateKeyDER: PKCS #8 or SEC 1.
    ///   - expectedFingerprint: SHA-256 of the peer's certificate, 32 bytes; nil accepts every certificate, and the
    ///     caller checks `peerFingerprint`.
    ///   - firstTimeout: the time before the first retransmission. It doubles up to 3 s; there are 12 retransmissions.
    ///   - send: sends one datagram, which is borrowed for the call.
    /// - Throws: `.identity` if the certificate or key cannot be used, `.library` if OpenSSL refuses.
    public init(
        role: Role, certificateDER: [UInt8], privateKeyDER: [UInt8], expectedFingerprint: [UInt8]?,
        firstTimeout: MediaDuration = .milliseconds(100),
        send: @escaping (UnsafeRawBufferPointer) -> Void, onEvent: @escaping (Event) -> Void
    ) throws(DTLSFailure) {
        guard let context = SSL_CTX_new(role == .server ? DTLS_server_method() : DTLS_client_method()) else {
            throw .library(Self.reason())
        }
        do throws(DTLSFailure) {
            try Self.configure(context, certificateDER, privateKeyDER)
        } catch {
            SSL_CTX_free(context)
            throw error
        }
        guard let ssl = SSL_new(context) else {
            SSL_CTX_free(context)
            throw .library(Self.reason())
        }
        guard let bio = wire.makeBIO() else {
            SSL_free(ssl)
            SSL_CTX_free(context)
            throw .library(Self.reason())
        }
        // The BIO is both reader and writer; OpenSSL takes one reference for both.
        SSL_set_bio(ssl, bio, bio)
        _ = cssl_set_link_mtu(ssl, Self.linkMTU)
        cssl_set_interval(ssl, UInt32(clamping: max(1, firstTimeout.nanoseconds / 1_000)))
        if role == .server { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
        self.role = role
        self.expectedFingerprint = expectedFingerprint
        self.context = context
        self.ssl = ssl
        self.send = send
        self.onEvent = onEvent
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    private static func configure(
        _ context: OpaquePointer, _ certificate: [UInt8], _ key: [UInt8]
    ) throws(DTLSFailure) {
        ERR_clear_error()
        // RFC 8827 section 6.5 requires the first suite; the others are for RSA keys and for peers without AES
        // hardware.
        let ciphers = ["AES128-GCM-SHA256", "CHACHA20-POLY1305", "AES256-GCM-SHA384"]
            .map { "ECDHE-ECDSA-\($0):ECDHE-RSA-\($0)" }.joined(separator: ":")
        let profiles = [SRTPProfile.aes128GCM, .aes256GCM, .aes128CMSHA1].map(\.rawValue).joined(separator: ":")
        guard cssl_require_dtls12(context) == 1, SSL_CTX_set_cipher_list(context, ciphers) == 1,
            cssl_set_groups(context, "X25519:P-256:P-384") == 1,
            // Unlike its neighbours this function returns 0 for success.
            SSL_CTX_set_tlsext_use_srtp(context, profiles) == 0
        else { throw .library(reason()) }
        cssl_configure(context)
        cssl_require_certificate(context)
        guard SSL_CTX_use_certificate_ASN1(context, Int32(clamping: certificate.count), certificate) == 1 else {
            throw .identity(reason())
        }
        let parsed = key.withUnsafeBufferPointer { key in
            var position = key.baseAddress
            return d2i_AutoPrivateKey(nil, &position, key.count)
        }
        guard let parsed else { throw .identity(reason()) }
        defer { EVP_PKEY_free(parsed) }
        guard SSL_CTX_use_PrivateKey(context, parsed) == 1, SSL_CTX_check_private_key(context) == 1 else {
            throw .identity(reason())
        }
    }

    /// Sends the ClientHello in the client role; a server waits for it.
    public func start() {
        guard state == .handshaking, role == .client else { return }
        advance(with: nil)
    }

    /// Handles one datagram from the peer. A first byte outside 20...63 (RFC 7983) is ignored.
    public func handle(_ datagram: UnsafeRawBufferPointer) {
        guard state != .ended, datagram.count >= 13, (20...63).contains(datagram[0]) else { return }
        advance(with: datagram)
    }

    /// Retransmits the last flight if `deadline` has passed; an earlier call does nothing.
    public func handleTimeout(_ now: MediaInstant) {
        guard state != .ended, let deadline, deadline <= now else { return }
        ERR_clear_error()
        let result = wire.reading(nil) { cssl_handle_timeout(ssl) }
        flush()
        if result < 0 {
            end(with: .failed(.timeout))
        } else {
            updateDeadline()
        }
    }

    /// Sends close_notify if the handshake is complete. No event follows. A second call does nothing.
    public func close() {
        guard state != .ended else { return }
        if state == .connected {
            ERR_clear_error()
            _ = wire.reading(nil) { SSL_shutdown(ssl) }
        }
        state = .ended
        deadline = nil
        flush()
        send = { _ in }
        onEvent = { _ in }
    }

    // MARK: OpenSSL

    private func advance(with datagram: UnsafeRawBufferPointer?) {
        ERR_clear_error()
        let outcome = wire.reading(datagram) { run() }
        switch outcome {
        case .waiting:
            flush()
            updateDeadline()
        case .connected(let keys):
            state = .connected
            flush()
            updateDeadline()
            onEvent(.connected(keys))
        case .failed(let failure):
            flush()
            end(with: .failed(failure))
        case .closed:
            _ = SSL_shutdown(ssl)
            flush()
            end(with: .closed)
        }
    }

    private enum Outcome {
        case waiting, closed
        case connected(SRTPKeys)
        case failed(DTLSFailure)
    }

    private func run() -> Outcome {
        guard state == .handshaking else { return drain() }
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            do throws(DTLSFailure) {
                try checkPeer()
                return .connected(try exportKeys())
            } catch {
                _ = SSL_shutdown(ssl)
                return .failed(error)
            }
        }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .waiting
        default:
            // OpenSSL checks its timer in this call as well.
            let isLate = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_READ_TIMEOUT_EXPIRED
            return .failed(isLate ? .timeout : .handshake(Self.reason()))
        }
    }

    /// Reads after the handshake: answers retransmitted flights and detects close_notify. Application data is dropped.
    private func drain() -> Outcome {
        withUnsafeTemporaryAllocation(byteCount: 2_048, alignment: 16) { buffer in
            while true {
                let result = SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
                if result > 0 { continue }
                switch SSL_get_error(ssl, result) {
                case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .waiting
                default: return .closed
                }
            }
        }
    }

    private func checkPeer() throws(DTLSFailure) {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { throw .fingerprintMismatch }
        defer { X509_free(certificate) }
        let fingerprint = try Self.digest(of: certificate, EVP_sha256())
        peerFingerprint = fingerprint
        if let expectedFingerprint, expectedFingerprint != fingerprint { throw .fingerprintMismatch }
        for further in furtherFingerprints {
            guard let function = Self.hashFunction(ofLength: further.count),
                try Self.digest(of: certificate, function) == further
            else { throw .fingerprintMismatch }
        }
    }

    private static func hashFunction(ofLength count: Int) -> OpaquePointer? {
        switch count {
        case 20: EVP_sha1()
        case 28: EVP_sha224()
        case 32: EVP_sha256()
        case 48: EVP_sha384()
        case 64: EVP_sha512()
        default: nil
        }
    }

    private static func digest(
        of certificate: OpaquePointer, _ function: OpaquePointer?
    ) throws(DTLSFailure) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard X509_digest(certificate, function, &digest, &length) == 1 else { throw .library(reason()) }
        return Array(digest.prefix(Int(length)))
    }

    /// RFC 5764 section 4.2: client key, server key, client salt, server salt.
    private func exportKeys() throws(DTLSFailure) -> SRTPKeys {
        guard let selected = SSL_get_selected_srtp_profile(ssl), let name = selected.pointee.name,
            let profile = SRTPProfile(rawValue: String(cString: name))
        else { throw .noSRTPProfile }
        let (key, salt) = (profile.keyLength, profile.saltLength)
        var material = [UInt8](repeating: 0, count: 2 * (key + salt))
        let label = "EXTRACTOR-dtls_srtp"
        guard
            SSL_export_keying_material(ssl, &material, material.count, label, label.utf8.count, nil, 0, 0) == 1
        else { throw .library(Self.reason()) }
        let client = Array(material[..<key] + material[(2 * key)..<(2 * key + salt)])
        let server = Array(material[key..<(2 * key)] + material[(2 * key + salt)...])
        return role == .client
            ? SRTPKeys(profile: profile, local: client, remote: server)
            : SRTPKeys(profile: profile, local: server, remote: client)
    }

    private func flush() {
        for datagram in wire.takeOutgoing() { datagram.withUnsafeBytes { send($0) } }
    }

    private func updateDeadline() {
        guard state != .ended else { return }
        let left = cssl_timeout_microseconds(ssl)
        // OpenSSL's timer counts from now, so its instant needs a clock here.
        deadline = left < 0 ? nil : MonotonicClock.now + .microseconds(Int(left))
    }

    private func end(with event: Event) {
        guard state != .ended else { return }
        state = .ended
        deadline = nil
        let onEvent = onEvent
        send = { _ in }
        self.onEvent = { _ in }
        onEvent(event)
    }

    private static func reason() -> String {
        let code = ERR_peek_last_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return "no reason given" }
        return String(cString: text)
    }
}
