import DTLSTransport
import LinuxRuntime
import MediaCore

/// A DTLS client and server in memory, with a simulated network that can lose datagrams.
final class DTLSPair {
    enum Side { case client, server }

    /// Decides whether a datagram is delivered, by its sender and its index from 0.
    var delivers: (Side, Int) -> Bool = { _, _ in true }
    /// Decides whether a datagram is lost, by its sender and its bytes.
    var loses: (Side, [UInt8]) -> Bool = { _, _ in false }
    private(set) var keys: [Side: SRTPKeys] = [:]
    private(set) var failures: [Side: DTLSFailure] = [:]
    private(set) var closed: Set<Side> = []
    private(set) var sizes: [Int] = []
    /// Called before each datagram is delivered, with its receiver.
    var beforeDelivery: ((Side) -> Void)?
    /// The datagrams that each side has sent.
    private(set) var sent: [Side: [[UInt8]]] = [:]
    private var sessions: [Side: DTLSSession] = [:]
    private var counts: [Side: Int] = [:]
    private var underway: [(from: Side, bytes: [UInt8])] = []

    init(
        clientExpects: [UInt8]? = TestIdentity.one.fingerprint, serverExpects: [UInt8]? = TestIdentity.two.fingerprint,
        firstTimeout: MediaDuration = .milliseconds(100)
    ) throws {
        for (side, identity, expected) in [
            (Side.server, TestIdentity.one, serverExpects), (.client, .two, clientExpects),
        ] {
            sessions[side] = DTLSSession(
                role: side == .server ? .server : .client, identity: try identity.forDTLS(),
                expectedFingerprint: expected,
                firstTimeout: firstTimeout,
                send: { [unowned self] in send(Array($0), from: side) },
                onEvent: { [unowned self] event in
                    switch event {
                    case .connected(let keys): self.keys[side] = keys
                    case .failed(let failure): failures[side] = failure
                    case .closed: closed.insert(side)
                    }
                })
        }
    }

    func session(_ side: Side) -> DTLSSession {
        guard let session = sessions[side] else { preconditionFailure("no session") }
        return session
    }

    private func send(_ bytes: [UInt8], from side: Side) {
        sizes.append(bytes.count)
        sent[side, default: []].append(bytes)
        let number = counts[side, default: 0]
        counts[side] = number + 1
        if delivers(side, number), !loses(side, bytes) { underway.append((side, bytes)) }
    }

    func deliver(_ bytes: [UInt8], to side: Side) {
        bytes.withUnsafeBytes { session(side).handle($0) }
    }

    /// Delivers datagrams until none is left.
    func settle() {
        while !underway.isEmpty {
            let (from, bytes) = underway.removeFirst()
            let side: Side = from == .client ? .server : .client
            beforeDelivery?(side)
            deliver(bytes, to: side)
        }
    }

    /// Sleeps until the timers of both sessions expire, as OpenSSL measures them on the real clock.
    func expire() async throws {
        let sessions = sessions.values
        guard let last = sessions.compactMap(\.deadline).max() else { return }
        let left = last - MonotonicClock.now
        try await Task.sleep(for: .nanoseconds(max(0, left.nanoseconds)), tolerance: .zero)
        for session in sessions { session.handleTimeout(.distantFuture) }
    }

    var isConnected: Bool { keys.count == 2 }

    /// Delivers datagrams and runs timers until both sides are connected.
    func connect(within limit: MediaDuration) async throws {
        session(.client).start()
        let end = MonotonicClock.now + limit
        settle()
        while !isConnected, MonotonicClock.now < end {
            try await expire()
            settle()
        }
    }
}

extension TestIdentity {
    func forDTLS() throws -> DTLSIdentity {
        try DTLSIdentity(certificateDER: certificateDER, privateKeyDER: privateKeyDER)
    }
}
