internal import LinuxRuntime
internal import MediaCore

/// The handshakes of a DTLS server: one for each ClientHello with another random, or with other contents, three at
/// most. A browser never begins its ClientHello again, so a forged one must not take its place.
///
/// Records behind the hello name no handshake; each of them reads them, and the wrong ones fail at CertificateVerify.
final class ServerHandshakes: HandshakeSet {
    static let limit = 3
    /// After this time without an answer a handshake makes room for another.
    static let answerTime = MediaDuration.seconds(1)

    private let identity: DTLSIdentity
    private let firstTimeout: MediaDuration
    private let filter = DTLSRecordFilter(isServer: true)
    /// The oldest first.
    private var handshakes: [DTLSHandshake] = []
    /// The one whose hello came last. It alone retransmits by itself: a client that gets the flights of several mixes
    /// them up, and repeats its hello until it has one.
    private weak var newest: DTLSHandshake?
    /// The rest of a ClientHello that came before its beginning; the last one.
    private var early: [UInt8]?
    private var outgoing: [[UInt8]] = []
    private(set) var failure: DTLSFailure?

    init(identity: DTLSIdentity, firstTimeout: MediaDuration) {
        self.identity = identity
        self.firstTimeout = firstTimeout
    }

    var deadline: MediaInstant? { newest?.deadline }

    func start() -> HandshakeProgress { .waiting }

    func handle(_ datagram: UnsafeRawBufferPointer) -> HandshakeProgress {
        for record in DTLSRecord.records(in: datagram) {
            let complete = record.epoch == 0 ? readPlaintext(record, datagram) : readFinished(record, datagram)
            if let complete { return .complete(complete) }
        }
        return .waiting
    }

    private func readPlaintext(_ record: DTLSRecord, _ datagram: UnsafeRawBufferPointer) -> DTLSHandshake? {
        guard filter.admitsPlaintext(record, in: datagram) else { return nil }
        let first =
            record.content == .handshake ? HandshakeFragment.fragments(of: record, in: datagram)?.first : nil
        guard let first, first.message == .clientHello else {
            return read(record, datagram, by: handshakes.filter(\.hasHello))
        }
        if first.offset == 0 {
            guard first.random(in: datagram) != nil else { return nil }
            return readHello(record, datagram, Array(datagram[first.body]))
        }
        let waiting = handshakes.filter { !$0.hasHello }
        if waiting.isEmpty { early = Array(datagram[record.range]) }
        return read(record, datagram, by: waiting)
    }

    /// Reads a ClientHello, or the beginning of one.
    private func readHello(
        _ record: DTLSRecord, _ datagram: UnsafeRawBufferPointer, _ hello: [UInt8]
    ) -> DTLSHandshake? {
        if let known = handshakes.first(where: { $0.peerHello == hello }) {
            // Its flight is repeated by the timer.
            newest = known
            return known.hasHello ? nil : read(record, datagram, by: [known])
        }
        guard let handshake = open(hello) else { return nil }
        if let complete = read(record, datagram, by: [handshake]) { return complete }
        guard !handshake.hasHello, let early else { return nil }
        self.early = nil
        return early.withUnsafeBytes { bytes in
            DTLSRecord.records(in: bytes).first.flatMap { read($0, bytes, by: [handshake]) }
        }
    }

    /// - Returns: nil if there is no room, or no memory.
    private func open(_ hello: [UInt8]) -> DTLSHandshake? {
        let now = MonotonicClock.now
        if handshakes.count >= Self.limit {
            guard let old = handshakes.first(where: { $0.isUnanswered && now - $0.began >= Self.answerTime }) else {
                return nil
            }
            drop(old)
        }
        do throws(DTLSFailure) {
            let handshake = try DTLSHandshake(role: .server, identity: identity, firstTimeout: firstTimeout, now: now)
            handshake.peerHello = hello
            handshakes.append(handshake)
            newest = handshake
            return handshake
        } catch {
            failure = error
            return nil
        }
    }

    private func readFinished(_ record: DTLSRecord, _ datagram: UnsafeRawBufferPointer) -> DTLSHandshake? {
        let ready = handshakes.filter { handshake in
            handshake.finishedCipher.map { DTLSRecordFilter.canBeFinished(record, with: $0) } ?? false
        }
        return read(record, datagram, by: ready)
    }

    /// - Returns: the handshake that this completes.
    private func read(
        _ record: DTLSRecord, _ datagram: UnsafeRawBufferPointer, by readers: [DTLSHandshake]
    ) -> DTLSHandshake? {
        for handshake in readers {
            switch handshake.read(record, of: datagram) {
            case .complete: return handshake
            case .waiting: outgoing += handshake.takeOutgoing()
            case .failed(let failure):
                self.failure = failure
                // Its alert is not sent, as another handshake may be that of the peer.
                drop(handshake)
            }
        }
        return nil
    }

    private func drop(_ handshake: DTLSHandshake) {
        handshakes.removeAll { $0 === handshake }
        if newest === handshake { newest = handshakes.last }
    }

    func handleTimeout() -> HandshakeProgress {
        guard let newest else { return .waiting }
        if case .failed(let failure) = newest.handleTimeout() {
            self.failure = failure
            drop(newest)
        } else {
            outgoing += newest.takeOutgoing()
        }
        return .waiting
    }

    func takeOutgoing() -> [[UInt8]] {
        defer { outgoing = [] }
        return outgoing
    }
}
