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

    private enum State { case handshaking, connected, released, ended }

    /// The largest datagram in bytes, with IPv4 and UDP headers.
    static let linkMTU = 1_200

    /// When to call `handleTimeout`; nil while no retransmission is scheduled.
    public private(set) var deadline: MediaInstant?
    /// SHA-256 of the peer's certificate; nil before the handshake is complete.
    public internal(set) var peerFingerprint: [UInt8]?

    /// Fingerprints of the peer's certificate by other hash functions, all of which must match (RFC 8122).
    /// The length gives the function: 20 SHA-1, 28 SHA-224, 32 SHA-256, 48 SHA-384, 64 SHA-512; another length never
    /// matches.
    public var furtherFingerprints: [[UInt8]] = []

    let role: Role
    let expectedFingerprint: [UInt8]?
    private let wire = DatagramBIO()
    /// Nil once it has been released.
    private(set) var ssl: OpaquePointer?
    /// Datagrams with close_notify, of a released association.
    private var closeNotify: [[UInt8]] = []
    private var send: (UnsafeRawBufferPointer) -> Void
    private var onEvent: (Event) -> Void
    private var state = State.handshaking

    /// - Parameters:
    ///   - role: the DTLS role. `.server` answers `setup:passive` and chooses the SRTP profile: GCM-128 first.
    ///   - expectedFingerprint: SHA-256 of the peer's certificate, 32 bytes; nil accepts every certificate, and the
    ///     caller checks `peerFingerprint`.
    ///   - firstTimeout: the time before the first retransmission. It doubles up to 3 s; there are 12 retransmissions.
    ///   - send: sends one datagram, which is borrowed for the call.
    /// - Throws: `.library` if OpenSSL refuses.
    public init(
        role: Role, identity: DTLSIdentity, expectedFingerprint: [UInt8]?,
        firstTimeout: MediaDuration = .milliseconds(100),
        send: @escaping (UnsafeRawBufferPointer) -> Void, onEvent: @escaping (Event) -> Void
    ) throws(DTLSFailure) {
        // The session holds the context, too.
        guard let ssl = SSL_new(identity.context) else { throw .library(Self.reason()) }
        guard let bio = wire.makeBIO() else {
            SSL_free(ssl)
            throw .library(Self.reason())
        }
        // The BIO is both reader and writer; OpenSSL takes one reference for both.
        SSL_set_bio(ssl, bio, bio)
        _ = cssl_set_link_mtu(ssl, Self.linkMTU)
        cssl_set_interval(ssl, UInt32(clamping: max(1, firstTimeout.nanoseconds / 1_000)))
        if role == .server { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
        self.role = role
        self.expectedFingerprint = expectedFingerprint
        self.ssl = ssl
        self.send = send
        self.onEvent = onEvent
    }

    deinit { SSL_free(ssl) }

    /// Sends the ClientHello in the client role; a server waits for it.
    public func start() {
        guard state == .handshaking, role == .client else { return }
        advance(with: nil)
    }

    /// Handles one datagram from the peer. A first byte outside 20...63 (RFC 7983) is ignored.
    public func handle(_ datagram: UnsafeRawBufferPointer) {
        guard state == .handshaking || state == .connected, datagram.count >= 13, (20...63).contains(datagram[0]) else {
            return
        }
        advance(with: datagram)
    }

    /// Retransmits the last flight if `deadline` has passed; an earlier call does nothing.
    public func handleTimeout(_ now: MediaInstant) {
        guard state == .handshaking || state == .connected, let deadline, deadline <= now else { return }
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        let result = wire.reading(nil) { cssl_handle_timeout(ssl) }
        flush()
        releaseBuffers()
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
            SSL_alloc_buffers(ssl)
            _ = wire.reading(nil) { SSL_shutdown(ssl) }
        }
        state = .ended
        deadline = nil
        flush()
        for datagram in closeNotify { datagram.withUnsafeBytes { send($0) } }
        closeNotify = []
        send = { _ in }
        onEvent = { _ in }
    }

    /// Frees what OpenSSL keeps of the association, 35 KB, after the handshake. To be called when the peer has proved that
    /// it has the keys: until then it may repeat its last flight, and this side its own (RFC 6347 section 4.2.4). Later
    /// datagrams are ignored, so close_notify is not noticed any more; this side's own is written beforehand, for `close`.
    public func release() {
        guard state == .connected else { return }
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        _ = wire.reading(nil) { SSL_shutdown(ssl) }
        closeNotify = wire.takeOutgoing()
        SSL_free(ssl)
        ssl = nil
        state = .released
        deadline = nil
    }

    /// Whether `release` has freed the association.
    public var isReleased: Bool { state == .released }

    // MARK: OpenSSL

    private func advance(with datagram: UnsafeRawBufferPointer?) {
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        let outcome = wire.reading(datagram) { run() }
        switch outcome {
        case .waiting:
            flush()
            releaseBuffers()
            updateDeadline()
        case .connected(let keys):
            state = .connected
            flush()
            releaseBuffers()
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

    /// Gives back the record buffers, 32 KB, which are not needed between the few datagrams after the handshake.
    /// OpenSSL's own mode for that leaves DTLS out.
    private func releaseBuffers() {
        if state == .connected { SSL_free_buffers(ssl) }
    }

    private func flush() {
        for datagram in wire.takeOutgoing() { datagram.withUnsafeBytes { send($0) } }
    }

    private func updateDeadline() {
        guard state == .handshaking || state == .connected else { return }
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
}
