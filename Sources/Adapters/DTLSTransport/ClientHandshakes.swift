internal import LinuxRuntime
internal import MediaCore

/// The handshakes of a DTLS client, one after the other: if one fails, or makes no progress, it begins again with
/// another random, which a server that works as ``ServerHandshakes`` answers beside the first.
final class ClientHandshakes: HandshakeSet {
    /// The time from the server's first message to the end of the handshake. Behind a forged message it would never
    /// end.
    static let progressTime = MediaDuration.seconds(3)
    /// The pause before the third handshake; it doubles up to the longest.
    private static let firstPause = MediaDuration.milliseconds(100)
    private static let longestPause = MediaDuration.seconds(3)
    /// Randoms of servers that are remembered.
    private static let staleLimit = 8

    private let identity: DTLSIdentity
    private let firstTimeout: MediaDuration
    private let filter = DTLSRecordFilter(isServer: false)
    private var handshake: DTLSHandshake?
    /// The number of handshakes that have begun.
    private var begun = 0
    private var restart: MediaInstant?
    private var progressDeadline: MediaInstant?
    /// Randoms of the ServerHellos of former handshakes. Their flights may still arrive.
    private var stale: [[UInt8]] = []
    private var outgoing: [[UInt8]] = []
    private(set) var failure: DTLSFailure?

    init(identity: DTLSIdentity, firstTimeout: MediaDuration) {
        self.identity = identity
        self.firstTimeout = firstTimeout
    }

    var deadline: MediaInstant? {
        guard let handshake else { return restart }
        return [handshake.deadline, progressDeadline].compactMap(\.self).min()
    }

    func start() -> HandshakeProgress { begun == 0 ? begin() : .waiting }

    private func begin() -> HandshakeProgress {
        begun += 1
        (restart, progressDeadline) = (nil, nil)
        do throws(DTLSFailure) {
            let next = try DTLSHandshake(
                role: .client, identity: identity, firstTimeout: firstTimeout, now: MonotonicClock.now)
            handshake = next
            return follow(next.begin(), next)
        } catch {
            return .failed(error)
        }
    }

    func handle(_ datagram: UnsafeRawBufferPointer) -> HandshakeProgress {
        for record in DTLSRecord.records(in: datagram) {
            // One that fails does not read the rest, and neither does the next one.
            guard let handshake else { return .waiting }
            switch decision(record, datagram, handshake) {
            case .drop: continue
            case .dropDatagram: return .waiting
            case .read:
                let progress = follow(handshake.read(record, of: datagram), handshake)
                guard case .waiting = progress, self.handshake === handshake else { return progress }
            }
        }
        return .waiting
    }

    private enum Decision { case read, drop, dropDatagram }

    private func decision(
        _ record: DTLSRecord, _ datagram: UnsafeRawBufferPointer, _ handshake: DTLSHandshake
    ) -> Decision {
        guard record.epoch == 0 else {
            let isFinished = handshake.finishedCipher.map { DTLSRecordFilter.canBeFinished(record, with: $0) } ?? false
            return isFinished ? .read : .drop
        }
        guard filter.admitsPlaintext(record, in: datagram) else { return .drop }
        guard record.content == .handshake,
            let first = HandshakeFragment.fragments(of: record, in: datagram)?.first
        else { return handshake.hasHello ? .read : .drop }
        switch first.message {
        case .serverHello:
            guard let random = first.random(in: datagram) else { return handshake.hasHello ? .drop : .read }
            // What follows belongs to the same flight.
            guard !stale.contains(random), handshake.peerHello ?? random == random else { return .dropDatagram }
            handshake.peerHello = random
            limitProgress()
            return .read
        case .helloVerifyRequest:
            // A forged one spoils a handshake with a server that has not asked, so every other handshake ignores them.
            guard !handshake.hasHello, begun % 2 == 1 else { return .drop }
            limitProgress()
            return .read
        default: return handshake.hasHello ? .read : .drop
        }
    }

    private func limitProgress() { progressDeadline = progressDeadline ?? MonotonicClock.now + Self.progressTime }

    private func follow(_ result: DTLSHandshake.Result, _ handshake: DTLSHandshake) -> HandshakeProgress {
        switch result {
        case .complete: return .complete(handshake)
        case .waiting:
            outgoing += handshake.takeOutgoing()
            return .waiting
        case .failed(.timeout): return .failed(.timeout)
        case .failed(let failure):
            self.failure = failure
            return beginAgain()
        }
    }

    /// Begins again: at once the first time, then after a pause. Nothing of the former handshake is sent, not its alert
    /// either.
    private func beginAgain() -> HandshakeProgress {
        if let random = handshake?.peerHello {
            stale.append(random)
            if stale.count > Self.staleLimit { stale.removeFirst() }
        }
        handshake = nil
        guard begun > 1 else { return begin() }
        let pause = Self.firstPause.nanoseconds << Int64(min(begun - 2, 5))
        restart = MonotonicClock.now + min(MediaDuration(nanoseconds: pause), Self.longestPause)
        return .waiting
    }

    func handleTimeout() -> HandshakeProgress {
        let now = MonotonicClock.now
        if let restart, restart <= now { return begin() }
        if let progressDeadline, progressDeadline <= now { return beginAgain() }
        guard let handshake else { return .waiting }
        return follow(handshake.handleTimeout(), handshake)
    }

    func takeOutgoing() -> [[UInt8]] {
        defer { outgoing = [] }
        return outgoing
    }
}
