internal import COpenSSL
internal import LinuxRuntime
public import MediaCore

/// A DTLS 1.2 association that yields SRTP keys (DTLS-SRTP, RFC 5764), on OpenSSL 3.0.
///
/// Until a certificate has been verified, anybody can forge the peer's records, so a handshake that fails does not end
/// the session (``HandshakeSet``). After `connected` no error ends it: OpenSSL gets nothing but records that may be an
/// alert.
///
/// The caller sends and receives its datagrams, and calls `handleTimeout` at `deadline`. Callbacks run within its
/// methods when OpenSSL is no longer on the stack, and may call the session again.
/// - Isolation: confined to one thread.
public final class DTLSSession {
    public enum Role: Sendable { case server, client }

    public enum Event: Sendable {
        /// The handshake is complete and the peer's certificate matches, so media may flow. Sent once.
        case connected(SRTPKeys)
        /// The final event, instead of `connected`.
        case failed(DTLSFailure)
        /// The final event: the peer has closed the association after `connected`, with an authenticated close_notify.
        case closed
    }

    private enum State { case handshaking, connected, released, ended }

    /// When to call `handleTimeout`; nil while no retransmission is scheduled.
    public private(set) var deadline: MediaInstant?
    /// SHA-256 of the peer's certificate; nil before `connected`.
    public private(set) var peerFingerprint: [UInt8]?

    /// SHA-256 of the peer's certificate, 32 bytes; empty matches none, nil accepts every certificate.
    public var expectedFingerprint: [UInt8]?

    /// Fingerprints of the peer's certificate by other hash functions, all of which must match (RFC 8122).
    /// The length gives the function: 20 SHA-1, 28 SHA-224, 32 SHA-256, 48 SHA-384, 64 SHA-512; another length never
    /// matches.
    public var furtherFingerprints: [[UInt8]] = []

    private let identity: DTLSIdentity
    private let firstTimeout: MediaDuration
    private var role: Role
    /// Nil after the handshake.
    private var handshakes: (any HandshakeSet)?
    /// The association; nil before the handshake, and when it has been freed.
    private var association: DTLSHandshake?
    /// Of a server; nil before `connected`, and when the association has been released.
    private var lastFlight: LastFlight?
    /// Datagrams with this side's close_notify.
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
    public init(
        role: Role, identity: DTLSIdentity, expectedFingerprint: [UInt8]?,
        firstTimeout: MediaDuration = .milliseconds(100),
        send: @escaping (UnsafeRawBufferPointer) -> Void, onEvent: @escaping (Event) -> Void
    ) {
        self.identity = identity
        self.firstTimeout = firstTimeout
        self.role = role
        self.expectedFingerprint = expectedFingerprint
        self.send = send
        self.onEvent = onEvent
        handshakes = makeHandshakes()
    }

    private func makeHandshakes() -> any HandshakeSet {
        role == .server
            ? ServerHandshakes(identity: identity, firstTimeout: firstTimeout)
            : ClientHandshakes(identity: identity, firstTimeout: firstTimeout)
    }

    /// Takes a role that was not known at first, before the first datagram. After the handshake it does nothing.
    public func take(_ role: Role) {
        guard state == .handshaking, role != self.role else { return }
        self.role = role
        handshakes = makeHandshakes()
        deadline = nil
    }

    /// Why the last handshake has failed, which did not end the session; nil: none has, or `connected` came.
    public var handshakeFailure: DTLSFailure? { handshakes?.failure }

    /// Whether `release` has freed the association.
    public var isReleased: Bool { state == .released }

    /// Whether a datagram may be an alert of the association, such as close_notify. A released one cannot tell.
    public static func mayBeAlert(_ datagram: UnsafeRawBufferPointer) -> Bool {
        DTLSRecord.records(in: datagram).contains { record in
            DTLSRecordFilter.Cipher.allCases.contains { DTLSRecordFilter.canBeAlert(record, with: $0) }
        }
    }

    /// Sends the ClientHello in the client role; a server waits for it.
    public func start() {
        guard state == .handshaking, let handshakes else { return }
        follow(handshakes.start())
    }

    /// Handles one datagram from the peer. A first byte outside 20...63 (RFC 7983) is ignored.
    public func handle(_ datagram: UnsafeRawBufferPointer) {
        guard datagram.count >= DTLSRecord.headerLength, (20...63).contains(datagram[0]) else { return }
        switch state {
        case .handshaking: if let handshakes { follow(handshakes.handle(datagram)) }
        case .connected: handleConnected(datagram)
        case .released, .ended: break
        }
    }

    /// Retransmits the last flight if `deadline` has passed; an earlier call does nothing.
    public func handleTimeout(_ now: MediaInstant) {
        guard state == .handshaking, let handshakes, let deadline, deadline <= now else { return }
        follow(handshakes.handleTimeout())
    }

    /// Sends close_notify if the handshake is complete. No event follows. A second call does nothing.
    public func close() {
        guard state != .ended else { return }
        let (datagrams, send) = (closeNotify, send)
        forget()
        for datagram in datagrams { datagram.withUnsafeBytes { send($0) } }
    }

    /// Frees what OpenSSL keeps of the association, 35 KB, after the handshake. To be called when the peer has proved
    /// that it has the keys: until then it may repeat its last flight, and this side its own (RFC 6347 section 4.2.4).
    /// Later datagrams are ignored, so close_notify is not noticed any more; this side's own was written beforehand.
    public func release() {
        guard state == .connected else { return }
        state = .released
        association = nil
        lastFlight = nil
    }

    // MARK: The handshake

    private func follow(_ progress: HandshakeProgress) {
        for datagram in handshakes?.takeOutgoing() ?? [] { datagram.withUnsafeBytes { send($0) } }
        switch progress {
        case .waiting: if state == .handshaking { deadline = handshakes?.deadline }
        case .complete(let handshake): finish(handshake)
        case .failed(let failure): end(with: .failed(failure))
        }
    }

    /// The peer has the key of its certificate: if that is the wrong one, the session is over.
    private func finish(_ handshake: DTLSHandshake) {
        let flight = handshake.takeOutgoing()
        let keys: SRTPKeys
        do throws(DTLSFailure) {
            peerFingerprint = try handshake.checkPeer(expected: expectedFingerprint, others: furtherFingerprints)
            keys = try handshake.exportKeys()
        } catch {
            for datagram in flight + handshake.makeCloseNotify() { datagram.withUnsafeBytes { send($0) } }
            return end(with: .failed(error))
        }
        if role == .server { lastFlight = handshake.cipher.map { LastFlight(flight, cipher: $0) } }
        closeNotify = handshake.makeCloseNotify()
        handshake.releaseBuffers()
        association = handshake
        handshakes = nil
        deadline = nil
        state = .connected
        for datagram in flight { datagram.withUnsafeBytes { send($0) } }
        onEvent(.connected(keys))
    }

    // MARK: After the handshake

    /// Answers the client's last flight, and reads alerts.
    private func handleConnected(_ datagram: UnsafeRawBufferPointer) {
        let records = DTLSRecord.records(in: datagram)
        for datagram in lastFlight?.answer(to: records) ?? [] { datagram.withUnsafeBytes { send($0) } }
        for record in records {
            switch association?.readAlert(record, of: datagram) {
            case .closeNotify: return end(with: .closed)
            case .unreadable: association = nil
            case .none?, nil: continue
            }
        }
    }

    // MARK: The end

    private func end(with event: Event) {
        guard state != .ended else { return }
        let onEvent = onEvent
        forget()
        onEvent(event)
    }

    private func forget() {
        state = .ended
        deadline = nil
        handshakes = nil
        association = nil
        lastFlight = nil
        closeNotify = []
        send = { _ in }
        onEvent = { _ in }
    }
}
