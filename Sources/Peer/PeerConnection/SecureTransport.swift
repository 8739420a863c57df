import DTLSTransport
package import EventLoop
package import Identity
import LinuxRuntime
package import MediaCore
import RTPWire
import SRTPTransport
package import SessionDescription

/// Receives the events and packets of a session's transport, on the network loop.
package protocol SecureTransportDelegate: AnyObject {
    /// The DTLS handshake is complete and the certificate is the expected one: media may flow.
    func transportIsSecure(profile: SRTPProfile)
    /// A restart has selected its pair, and media uses it from now on.
    func transportSelectedNewPair()
    func transportEnded(_ reason: EndReason)
    /// The other peer has ended the DTLS association (an authenticated close_notify), before its first packet.
    func transportReceivedCloseNotify()
    /// The other peer may have ended the association, and has not answered checks since. Nothing proves that it has.
    func transportMissesPeer()
    /// An RTP packet without SRTP protection; borrowed for the call.
    /// - Parameter arrival: when it arrived in the socket, or was read.
    func transport(received rtp: UnsafeRawBufferPointer, at arrival: MediaInstant)
    func transport(receivedControl rtcp: UnsafeRawBufferPointer)
}

/// DTLS and SRTP of one session over a ``PacketPath``: datagrams below, media packets above (RFC 5764, RFC 3711). The
/// DTLS association and the SRTP keys stay when the path moves. Confined to the network loop.
package final class SecureTransport {
    /// Held until `close`, as a weak reference would cost more for each packet.
    package var delegate: (any SecureTransportDelegate)?
    /// Datagrams that were malformed, unexpected or not authentic, and packets that could not be protected.
    package private(set) var badPackets = 0
    private let path: any PacketPath
    private let dtls: DTLSSession
    private var srtp: SRTPSession?
    private let dtlsTimer: LoopTimer
    private let owner = OwnerBox<SecureTransport>()
    /// All transports of a loop share it, as each sends its packets before the next one does.
    private let batch: PacketBatch
    private var isClient: Bool
    private var isClosed = false
    /// The peer has sent an authentic packet. The DTLS association has been freed then: nothing that anybody can forge
    /// is read any more.
    private var isProven = false

    /// The time limit from the offer to the end of the DTLS handshake.
    package static let connectLimit = MediaDuration.seconds(20)

    /// - Parameters:
    ///   - expectedFingerprint: SHA-256 of the remote certificate; empty: `expect` sets it.
    ///   - path: owned by the transport from now on, which closes it, also if this throws.
    package init(
        loop: EventLoop, isServer: Bool, identity: Identity, expectedFingerprint: [UInt8], path: any PacketPath
    ) throws {
        self.path = path
        batch = loop.shared { PacketBatch(capacity: 32) }
        isClient = !isServer
        let owner = owner
        do {
            dtls = DTLSSession(
                role: isServer ? .server : .client,
                identity: try loop.shared { DTLSIdentityCache() }.identity(of: identity),
                expectedFingerprint: expectedFingerprint,
                send: { path.send($0) }, onEvent: { owner.value?.handshake($0) })
        } catch {
            path.close {}
            throw error
        }
        dtlsTimer = loop.makeTimer { owner.value?.dtlsTimeout() }
        owner.value = self
        path.delegate = self
    }

    /// Sets the fingerprints of the remote certificate that its description names; to be called before the handshake.
    /// The SHA-256 of a certificate that was known before stays.
    package func expect(_ named: CertificateFingerprints) {
        if dtls.expectedFingerprint?.isEmpty == true { dtls.expectedFingerprint = named.sha256.bytes }
        dtls.furtherFingerprints = named.others.map(\.bytes)
    }

    /// Whether the packet that is being delivered came from the address that media is sent to.
    package var isFromSelectedPair: Bool { path.isFromSelectedPair }

    /// Takes the DTLS role that an answer has left to the offerer; to be called before the handshake.
    package func takeRole(asServer isServer: Bool) {
        isClient = !isServer
        dtls.take(isServer ? .server : .client)
    }

    // MARK: Sending

    /// The buffer for the next packet; at least 1,400 bytes.
    package var slot: UnsafeMutableRawBufferPointer {
        takeBatch()
        return batch.slot
    }

    private func takeBatch() {
        guard batch.owner !== self, !isClosed else { return }
        batch.owner?.flush()
        batch.owner = self
    }

    /// Protects the RTP packet in `slot`. It is sent with `flush`, or when the batch is full.
    /// - Returns: the protected packet, valid until the next one is written into `slot`; nil if it cannot be sent.
    @discardableResult
    package func sendMedia(_ length: Int) -> UnsafeRawBufferPointer? {
        guard let srtp, let base = slot.baseAddress else { return nil }
        do throws(SRTPFailure) {
            let protected = try srtp.protectRTP(base, length: length)
            commit(protected)
            return UnsafeRawBufferPointer(start: base, count: protected)
        } catch {
            badPackets += 1
            return nil
        }
    }

    /// Sends RTP packets as long as there are some. Several threads may call it, each for other transports, while the
    /// loop does nothing else with them.
    /// - Parameters:
    ///   - batch: empty; not the loop's, as that one may hold packets of another transport.
    ///   - next: writes as many packets as it has and the slots have room for, and returns how many; 0 ends it.
    package func sendBursts(through batch: PacketBatch, _ next: (PacketSlots) -> Int) {
        guard let srtp, !isClosed else { return }
        while true {
            let slots = batch.slots
            let count = next(slots)
            guard count > 0 else { break }
            let protected = srtp.protectRTP(slots, count: count)
            for index in 0..<protected { batch.commit(slots.lengths[index]) }
            if protected < count { badPackets += count - protected }
            if batch.isFull { send(batch) }
        }
        send(batch)
    }

    /// Adds the memory that `sendBursts` is going to use.
    package func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 192)
        srtp?.addMemory(to: &list)
        path.addMemory(to: &list)
    }

    /// Sends a packet that `sendMedia` has protected before, and that is in `slot` again.
    package func sendProtected(_ length: Int) {
        guard srtp != nil else { return }
        commit(length)
    }

    /// Protects the RTCP packet in `slot`.
    package func sendControl(_ length: Int) {
        guard let srtp, let base = slot.baseAddress else { return }
        do throws(SRTPFailure) {
            commit(try srtp.protectRTCP(base, length: length))
        } catch {
            badPackets += 1
        }
    }

    private func commit(_ length: Int) {
        batch.commit(length)
        if batch.isFull { flush() }
    }

    package func flush() {
        guard batch.owner === self else { return }
        send(batch)
    }

    /// Sends the batch, unless consent to send to that address has expired (RFC 7675 section 5.1).
    private func send(_ batch: PacketBatch) {
        defer { batch.clear() }
        guard batch.count > 0, path.hasConsent(MonotonicClock.now) else { return }
        path.sendBatch(UnsafeRawPointer(batch.memory), stride: PacketBatch.slotBytes, lengths: batch.committed)
    }

    // MARK: Receiving

    private func unprotect(_ datagram: UnsafeMutableRawBufferPointer, isControl: Bool, _ arrival: MediaInstant) {
        let limit = isControl ? PacketBatch.slotBytes : PacketBatch.largestReceived
        guard let srtp, var base = datagram.baseAddress, datagram.count <= limit else {
            badPackets += 1
            return
        }
        // libsrtp2 reads whole words. The loop's own buffer is aligned; libnice's may not be.
        if UInt(bitPattern: base) % 4 != 0 {
            batch.scratch.copyMemory(from: base, byteCount: datagram.count)
            base = batch.scratch
        }
        let length: Int
        do throws(SRTPFailure) {
            length =
                isControl
                ? try srtp.unprotectRTCP(base, length: datagram.count)
                : try srtp.unprotectRTP(base, length: datagram.count)
        } catch {
            badPackets += 1
            return
        }
        path.noteAuthentic(arrival)
        if !isProven {
            isProven = true
            dtls.release()
            scheduleDTLS()
        }
        let packet = UnsafeRawBufferPointer(start: base, count: length)
        if isControl {
            delegate?.transport(receivedControl: packet)
        } else {
            delegate?.transport(received: packet, at: arrival)
        }
    }

    // MARK: DTLS

    /// Why no handshake has been completed, as far as is known. Anybody may have caused it.
    package var handshakeFailure: EndReason? { dtls.handshakeFailure.map { EndReason(.failed, $0.description) } }

    private func handshake(_ event: DTLSSession.Event) {
        switch event {
        case .connected(let keys):
            do throws(SRTPFailure) {
                srtp = try SRTPSession(keys: keys)
            } catch {
                end(EndReason(.failed, "the keys cannot be used: \(error)"))
                return
            }
            delegate?.transportIsSecure(profile: keys.profile)
        case .failed(let failure):
            end(EndReason(failure == .fingerprintMismatch ? .untrusted : .failed, failure.description))
        case .closed:
            guard !isClosed else { return }
            delegate?.transportReceivedCloseNotify()
            close()
        }
    }

    private func dtlsTimeout() {
        dtls.handleTimeout(MonotonicClock.now)
        scheduleDTLS()
    }

    private func scheduleDTLS() {
        guard !isClosed else { return }
        dtlsTimer.set(dtls.deadline)
    }

    // MARK: Ending

    private func end(_ reason: EndReason) {
        guard !isClosed else { return }
        delegate?.transportEnded(reason)
        close()
    }

    /// Sends close_notify and frees everything. May be called more than once.
    /// - Parameter done: called on the loop when the sockets are closed; the loop must not stop before.
    package func close(_ done: @escaping () -> Void = {}) {
        if !isClosed {
            isClosed = true
            if batch.owner === self {
                batch.clear()
                batch.owner = nil
            }
            dtls.close()
            dtlsTimer.close()
            owner.value = nil
            srtp = nil
            delegate = nil
        }
        path.close(done)
    }
}

extension SecureTransport: PacketPathDelegate {
    package func pathIsConnected() {
        if isClient { dtls.start() }
        scheduleDTLS()
    }

    package func pathWillChangePair() { flush() }

    package func pathDidChangePair() {
        if srtp != nil { delegate?.transportSelectedNewPair() }
    }

    package func pathPeerHasGone() {
        guard !isClosed else { return }
        delegate?.transportMissesPeer()
    }

    package func path(received datagram: UnsafeMutableRawBufferPointer, at arrival: MediaInstant) {
        guard !isClosed else { return }
        switch PacketKind(of: UnsafeRawBufferPointer(datagram)) {
        case .dtls where dtls.isReleased:
            // It cannot be read any more: it is close_notify, or forged.
            if DTLSSession.mayBeAlert(UnsafeRawBufferPointer(datagram)) { path.checkConsent(MonotonicClock.now) }
        case .dtls:
            dtls.handle(UnsafeRawBufferPointer(datagram))
            scheduleDTLS()
        case .rtp: unprotect(datagram, isControl: false, arrival)
        case .rtcp: unprotect(datagram, isControl: true, arrival)
        case .stun, .unknown: badPackets += 1
        }
    }
}
