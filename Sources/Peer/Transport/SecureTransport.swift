import DTLSTransport
package import EventLoop
package import ICETransport
import LinuxRuntime
package import MediaCore
import RTPWire
import SRTPTransport
package import SessionDescription

/// What a session hears of its transport; on the network loop.
package protocol SecureTransportDelegate: AnyObject {
    /// One more is in `localCandidates`.
    func transportFoundCandidate()
    func transportFinishedGathering()
    /// Keys are there and the other side is who it should be: media may flow.
    func transportIsSecure(profile: SRTPProfile)
    /// A restart has found its pair: media goes another way from now on.
    func transportSelectedNewPair()
    func transportEnded(_ reason: EndReason)
    /// Without protection and trailer; borrowed for the call.
    func transport(received rtp: UnsafeRawBufferPointer)
    func transport(receivedControl rtcp: UnsafeRawBufferPointer)
}

/// ICE, DTLS and SRTP of one session: datagrams below, media packets above (RFC 8445, RFC 5764, RFC 3711).
/// Confined to the network loop.
///
/// An ICE restart is made by a new agent, as libnice binds its sockets to the addresses that the machine had when an agent
/// was made. The old one serves until the new one has its pair, and is heard until something authentic came through the
/// new one. The DTLS association and the SRTP keys stay.
package final class SecureTransport {
    package struct Identity: Sendable {
        package var certificateDER: [UInt8]
        package var privateKeyDER: [UInt8]

        package init(certificateDER: [UInt8], privateKeyDER: [UInt8]) {
            self.certificateDER = certificateDER
            self.privateKeyDER = privateKeyDER
        }
    }

    package weak var delegate: (any SecureTransportDelegate)?
    /// Datagrams that were not what they should be.
    package private(set) var badPackets = 0
    /// When the last authentic packet came, from anywhere.
    package private(set) var lastHeard: MediaInstant?
    /// Whether the packet that is being given out came from the address that media goes to. In the first seconds of a pair any
    /// address will do: the check that selected it is not older.
    package private(set) var isFromSelectedPair = false
    /// When the last one came from there.
    private var pairHeard: MediaInstant?
    /// Something authentic has come over the pair of the newest agent.
    package private(set) var hasProvenPair = false
    /// Each once, of the last gathering.
    package private(set) var localCandidates: [ICECandidate] = []
    package private(set) var hasGathered = false
    private let loop: EventLoop
    private let configuration: ICEAgent.Configuration
    private let owner: WeakBox<SecureTransport>
    /// Carries what is sent.
    private(set) var ice: ICEAgent
    /// Of a restart, until it has a pair.
    private var next: ICEAgent?
    /// From before the last restart, until the new one is heard.
    private var former: ICEAgent?
    /// On their way out.
    private var dismissed: [ICEAgent] = []
    /// Agents are numbered; this is the newest.
    private var newest = 0
    private var sending = 0
    private let dtls: DTLSSession
    private var srtp: SRTPSession?
    private let dtlsTimer: LoopTimer
    private let batch = PacketBatch(capacity: 32)
    /// For packets that are not aligned where they lie.
    private let scratch = UnsafeMutableRawPointer.allocate(byteCount: PacketBatch.slotBytes, alignment: 64)
    private let isClient: Bool
    private var hasPath = false
    private var isStarted = false
    private var isClosed = false
    private var remoteCandidates: [ICECandidate] = []
    private var refusedCandidates = 0
    /// Addresses from which something authentic has come.
    private var provenAddresses: Set<IPAddress> = []
    private var provenPair: MediaInstant?
    private let limits: Limits
    /// The STUN and TURN servers of this side, for the report.
    package var servers: [String] = []

    /// What may be made and tried for the other side.
    package struct Limits {
        /// nil: agents are not counted beyond this session.
        package var pool: ICEAgentPool?
        package var allowance: (any TransportAllowance)?
        package var policy: CandidatePolicy

        package init(
            pool: ICEAgentPool? = nil, allowance: (any TransportAllowance)? = nil,
            policy: CandidatePolicy = CandidatePolicy(.loopback)
        ) {
            self.pool = pool
            self.allowance = allowance
            self.policy = policy
        }
    }

    /// From the offer to media.
    package static let connectLimit = MediaDuration.seconds(20)

    /// Agents of one session, with those that are closing: in use, of a restart, from before it, and some on their way out.
    static let agentLimit = 6
    /// Addresses of the other side that are remembered as proven.
    static let provenLimit = 16
    /// The silence of a pair after which packets follow the address that the other side is heard from. Both sides send at least
    /// one a second.
    static let followAfter = MediaDuration.seconds(2)
    /// The time after its selection in which a pair need not be heard from itself.
    static let pairGrace = MediaDuration.seconds(4)

    package init(
        loop: EventLoop, isServer: Bool, identity: Identity, expectedFingerprint: [UInt8],
        ice configuration: ICEAgent.Configuration, limits: Limits = Limits()
    ) throws {
        self.loop = loop
        self.configuration = configuration
        self.limits = limits
        isClient = !isServer
        let owner = WeakBox<SecureTransport>()
        self.owner = owner
        ice = try Self.makeAgent(loop, configuration, limits, owner, 0)
        do {
            dtls = try DTLSSession(
                role: isServer ? .server : .client, certificateDER: identity.certificateDER,
                privateKeyDER: identity.privateKeyDER, expectedFingerprint: expectedFingerprint,
                send: { owner.value?.ice.send($0) }, onEvent: { owner.value?.handshake($0) })
        } catch {
            ice.close()
            throw error
        }
        dtlsTimer = loop.makeTimer { owner.value?.dtlsTimeout() }
        owner.value = self
    }

    deinit { scratch.deallocate() }

    /// What else the other side's description says of its certificate; to be called before the handshake.
    package func expect(_ fingerprints: [Fingerprint]) { dtls.furtherFingerprints = fingerprints.map(\.bytes) }

    /// Reserves before it makes anything.
    private static func makeAgent(
        _ loop: EventLoop, _ configuration: ICEAgent.Configuration, _ limits: Limits,
        _ owner: WeakBox<SecureTransport>,
        _ number: Int
    ) throws(ICEFailure) -> ICEAgent {
        guard limits.allowance?.takeAgent(now: MonotonicClock.now) ?? true else {
            throw ICEFailure("this viewer has asked for too many connections in a short time")
        }
        var reservation: ICEAgentPool.Reservation?
        if let pool = limits.pool {
            let cost = configuration.descriptors(localInterfaceAddresses: ICEAgent.localInterfaceAddresses().count)
            guard let room = pool.reserve(descriptors: cost) else {
                throw ICEFailure("there is no room for another connection")
            }
            reservation = room
        }
        do throws(ICEFailure) {
            return try ICEAgent(
                loop: loop, configuration: configuration,
                handlers: .init(
                    onCandidate: { owner.value?.found($0, by: number) },
                    onGatheringDone: { owner.value?.gathered(by: number) },
                    onState: { owner.value?.changed(to: $0, number) },
                    onClosed: { reservation?.release() },
                    onDatagram: { owner.value?.received($0, by: number) }))
        } catch {
            reservation?.release()
            throw error
        }
    }

    /// The newest, which is told what the other side says.
    private var latest: ICEAgent { next ?? ice }

    /// Starts to look for candidates; the delegate hears of them, of some before this returns.
    package func gather() throws(ICEFailure) {
        localCandidates = []
        try latest.gather()
    }

    package var localCredentials: ICECredentials { latest.credentials }

    /// Begins an ICE restart with new credentials on the addresses that the machine has now; then `gather`, tell the other
    /// side, and `start` with what it answers. A restart before this one is given up.
    /// - Throws: if this machine has no address to listen at, or too many agents were made; nothing has then changed.
    package func restart() throws(ICEFailure) {
        guard !isClosed else { return }
        guard [ice, next, former].compactMap({ $0 }).count + dismissed.count < Self.agentLimit else {
            throw ICEFailure("too many connections of this session are still closing")
        }
        // Whoever restarts in vain gets the usual interval between checks: they are no small number any more.
        var configuration = configuration
        if newest > 0, !hasProvenPair { configuration.checkInterval = 20 }
        let agent = try Self.makeAgent(loop, configuration, limits, owner, newest + 1)
        newest += 1
        hasProvenPair = false
        dismiss(next)
        next = agent
        hasGathered = false
        isStarted = false
        remoteCandidates = []
    }

    /// Gives up a restart that the other side has not answered.
    package func dropUnansweredRestart() {
        guard let agent = next, !isStarted else { return }
        dismiss(agent)
        next = nil
    }

    /// The address that media leaves from, without port; nil before there is a pair.
    package var localAddress: String? { ice.selectedPair?.localAddress }

    /// For a person: "direct, 192.168.1.7:4000 (host) - ...".
    package var path: String {
        guard let pair = ice.selectedPair else { return "no path" }
        return (pair.isRelayed ? "relayed, " : "direct, ") + pair.description
    }

    /// What there was to try, for the words that say that there is no way.
    package var route: ConnectivityReport {
        ConnectivityReport(
            own: localCandidates.map { .init($0) }, other: remoteCandidates.map { .init($0) },
            refused: refusedCandidates, hasPath: hasPath, usesOnlyRelays: configuration.usesOnlyRelays,
            servers: servers.map { .init(url: $0, finding: nil) })
    }

    /// The other side's credentials are known: checks begin.
    package func start(remote: ICECredentials) {
        guard !isClosed, !isStarted else { return }
        isStarted = true
        latest.setRemote(remote)
    }

    private func add(_ candidate: ICECandidate) {
        let isKnown = remoteCandidates.contains { $0.address == candidate.address && $0.port == candidate.port }
        if isKnown { return }
        do throws(CandidateRefusal) {
            guard mayTry(candidate) else { throw .unusableAddress }
            try latest.addRemote(candidate)
            if remoteCandidates.count < ICEAgent.remoteCandidateLimit { remoteCandidates.append(candidate) }
        } catch {
            badPackets += 1
            refusedCandidates += 1
        }
    }

    /// Whether checks may go there. What was heard from an address allows more of its ports.
    private func mayTry(_ candidate: ICECandidate) -> Bool {
        guard case .address(let address) = candidate.addressKind, limits.policy.permits(address) else { return false }
        if provenAddresses.contains(address) { return true }
        return limits.allowance?.takeCandidate(now: MonotonicClock.now) ?? true
    }

    /// Takes the usable ones, and counts the others: names are not looked up.
    package func add(_ candidates: CandidateList, ended: Bool) {
        for candidate in candidates.usable { add(candidate) }
        refusedCandidates += candidates.named.count + candidates.dropped
        if ended { latest.remoteCandidatesEnded() }
    }

    // MARK: Sending

    /// Where the next packet is to be written; at least 1,400 bytes.
    package var slot: UnsafeMutableRawBufferPointer { batch.slot }

    /// Protects the RTP packet in `slot`. It leaves with `flush`, or when the batch is full.
    /// - Returns: the packet as it leaves, valid until the next is written into `slot`; nil if it does not.
    @discardableResult
    package func sendMedia(_ length: Int) -> UnsafeRawBufferPointer? {
        guard let srtp, let base = batch.slot.baseAddress else { return nil }
        do throws(SRTPFailure) {
            let protected = try srtp.protectRTP(base, length: length)
            commit(protected)
            return UnsafeRawBufferPointer(start: base, count: protected)
        } catch {
            badPackets += 1
            return nil
        }
    }

    /// Sends what `sendMedia` has protected before and returned, which is in `slot` again.
    package func sendProtected(_ length: Int) {
        guard srtp != nil else { return }
        commit(length)
    }

    /// Protects the RTCP packet in `slot`.
    package func sendControl(_ length: Int) {
        guard let srtp, let base = batch.slot.baseAddress else { return }
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

    /// Sends what was committed, unless consent to send to that address is over (RFC 7675 section 5.1).
    package func flush() {
        guard batch.count > 0 else { return }
        guard ice.hasConsent(MonotonicClock.now) else { return batch.clear() }
        ice.sendBatch(UnsafeRawPointer(batch.memory), stride: PacketBatch.slotBytes, lengths: batch.committed)
        batch.clear()
    }

    // MARK: Receiving

    private func received(_ datagram: UnsafeMutableRawBufferPointer, by agent: Int) {
        guard !isClosed else { return }
        let now = MonotonicClock.now
        // A new pair has just answered a check, which is consent (RFC 7675 section 5.1), and the other side may use its former
        // one for some time yet.
        isFromSelectedPair = isNew(ice, now) || agent == sending && ice.isFromSelectedPair
        defer { isFromSelectedPair = false }
        switch PacketKind(of: UnsafeRawBufferPointer(datagram)) {
        case .dtls:
            dtls.handle(UnsafeRawBufferPointer(datagram))
            scheduleDTLS()
        case .rtp: unprotect(datagram, isControl: false, by: agent, now)
        case .rtcp: unprotect(datagram, isControl: true, by: agent, now)
        case .stun, .unknown: badPackets += 1
        }
    }

    private func isNew(_ agent: ICEAgent, _ now: MediaInstant) -> Bool {
        agent.pairSince.map { now - $0 < Self.pairGrace } ?? false
    }

    /// An authentic datagram has come.
    private func heard(by agent: Int, _ now: MediaInstant) {
        lastHeard = now
        guard agent == sending else { return }
        if former != nil { dismissFormer() }
        if agent == newest { hasProvenPair = true }
        if ice.isFromSelectedPair {
            pairHeard = now
            noteProven()
            return
        }
        // The controlling side chooses (RFC 8445 section 8.1.1); libnice stays with its own pair. If both followed, they would miss
        // each other for ever.
        guard !configuration.isControlling, let since = ice.pairSince,
            now - max(pairHeard ?? since, since) > Self.followAfter
        else { return }
        ice.followSource(now)
    }

    private func noteProven() {
        // Once a pair, not once a packet.
        guard provenPair != ice.pairSince else { return }
        provenPair = ice.pairSince
        guard provenAddresses.count < Self.provenLimit, let text = ice.selectedPair?.remoteAddress,
            let address = IPAddress(text)
        else { return }
        provenAddresses.insert(address)
    }

    private func unprotect(
        _ datagram: UnsafeMutableRawBufferPointer, isControl: Bool, by agent: Int, _ now: MediaInstant
    ) {
        guard let srtp, var base = datagram.baseAddress, datagram.count <= PacketBatch.slotBytes else {
            badPackets += 1
            return
        }
        // libsrtp2 reads whole words. The loop's own buffer is aligned, libnice's need not be.
        if UInt(bitPattern: base) % 4 != 0 {
            scratch.copyMemory(from: base, byteCount: datagram.count)
            base = scratch
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
        heard(by: agent, now)
        let packet = UnsafeRawBufferPointer(start: base, count: length)
        if isControl { delegate?.transport(receivedControl: packet) } else { delegate?.transport(received: packet) }
    }

    // MARK: ICE's and DTLS's news

    private func found(_ candidate: ICECandidate, by agent: Int) {
        guard agent == newest, !localCandidates.contains(candidate) else { return }
        localCandidates.append(candidate)
        delegate?.transportFoundCandidate()
    }

    private func gathered(by agent: Int) {
        guard agent == newest else { return }
        hasGathered = true
        delegate?.transportFinishedGathering()
    }

    /// `failed` says nothing: a pair may come back, and what ends a session is silence.
    private func changed(to state: ICEAgent.State, _ agent: Int) {
        guard state == .connected || state == .ready, !isClosed else { return }
        if agent == newest, let agent = next {
            flush()
            dismissFormer()
            former = ice
            ice = agent
            next = nil
            sending = newest
            if srtp != nil { delegate?.transportSelectedNewPair() }
        }
        guard !hasPath else { return }
        hasPath = true
        if isClient { dtls.start() }
        scheduleDTLS()
    }

    private func dismissFormer() {
        dismiss(former)
        former = nil
    }

    private func dismiss(_ agent: ICEAgent?) {
        guard let agent else { return }
        dismissed.append(agent)
        agent.close { [owner] in owner.value?.dismissed.removeAll { $0 === agent } }
    }

    private func handshake(_ event: DTLSSession.Event) {
        switch event {
        case .connected(let keys):
            do throws(SRTPFailure) {
                srtp = try SRTPSession(keys: keys)
            } catch {
                end(EndReason(.failed, "the keys cannot be used: \(error)"))
                return
            }
            lastHeard = MonotonicClock.now
            delegate?.transportIsSecure(profile: keys.profile)
        case .failed(let failure):
            end(EndReason(failure == .fingerprintMismatch ? .untrusted : .failed, failure.description))
        case .closed:
            end(
                EndReason(
                    isClient ? .hostEnded : .viewerLeft, isClient ? "the host ended the broadcast" : "the viewer left"))
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

    /// Says goodbye and frees everything. Twice is fine.
    /// - Parameter done: called on the loop when the sockets are closed; the loop must not stop before.
    package func close(_ done: @escaping () -> Void = {}) {
        if !isClosed {
            isClosed = true
            dtls.close()
            dtlsTimer.close()
            srtp = nil
        }
        closeAll([ice, next, former].compactMap { $0 } + dismissed, with: { $0.close($1) }, then: done)
    }
}
