package import EventLoop
import ICETransport
import Identity
import LinuxRuntime
package import MediaCore
package import MediaEngine
package import PeerEngine
package import SessionDescription

/// Receives the events of a connection, on the network loop.
package protocol PeerConnectionDelegate: AnyObject {
    func connection(reported event: PeerConnection.Event)
}

/// One WebRTC connection: ICE, DTLS and SRTP, what both sides negotiate, and the media that is sent or received.
/// Confined to the network loop.
///
/// Made with a path, it gathers candidates. `begin` applies the other side's description; `close` frees everything.
package final class PeerConnection {
    package enum Event {
        /// Media can flow: the other side's certificate is verified.
        case connected
        /// No packets arrive from the other side. It gets no media until one arrives.
        case interrupted
        /// Packets arrive again, after this silence.
        case resumed(after: MediaDuration)
        /// An ICE restart has selected its pair.
        case selectedNewPair
        /// The connection is alive; reported about four times a second.
        case checked
        /// The connection is closed.
        case ended(End)

        // Of the sender:
        case keyframeNeeded
        case recoveryNeeded(from: UInt32)
        /// See `SenderEvent`.
        case skipFrameDue
        /// The last packet of a frame was sent.
        case frameSent(MediaInstant)

        // Of the receiver; bytes are borrowed for the call:
        case frame(EncodedFrameBytes, ReceivedFrame)
        case audio(UnsafeRawBufferPointer?, ReceivedAudio)
    }

    /// Why a connection is over.
    package enum End {
        /// The other side has closed it.
        case closed
        /// There was no connection in time.
        case noRoute(ConnectivityReport)
        /// DTLS or SRTP failed.
        case failed(EndReason)
        /// Nothing came for `MediaLiveness.limit`.
        /// - Parameter isConsenting: the other side has answered checks lately.
        case silent(isConsenting: Bool)
        /// The other side answers checks, and has never sent an SRTCP or SRTP packet.
        case withoutRTCP
        /// The other side is silent since its event stream was closed.
        case crashed
    }

    package private(set) var liveness: ConnectionLiveness
    package private(set) var isEnded = false
    private var sender: MediaSender?
    package private(set) var receiver: MediaReceiver?
    package let transport: SecureTransport
    package let path: any NegotiatedPath
    /// Held until `close`, as a weak reference would cost more for each frame.
    package var delegate: (any PeerConnectionDelegate)?
    private let timer: LoopTimer
    private let livenessTimer: LoopTimer
    private let owner = OwnerBox<PeerConnection>()
    /// RTP and RTCP of this connection, also of streams that nobody has announced.
    package private(set) var receivedBytes = 0
    let candidates: CandidateReporter
    /// The other side's newest credentials, and the section that candidates are named for; nil before its description.
    var remote: (credentials: ICECredentials, mid: String?)?
    var restarts = ICERestartLimiter()
    /// Of this side's certificate.
    let localFingerprint: Fingerprint?

    /// Longer than the interval of checks, 6 s at most (RFC 7675 section 5.1).
    private static let consentInterval = MediaDuration.milliseconds(6_500)
    /// The silence of a sender after which this machine's addresses are checked.
    private static let suspicion = MediaDuration.milliseconds(1_500)

    /// Opens a path to the other side, and begins to gather candidates.
    /// - Parameters:
    ///   - pool: limits the ICE agents of several connections.
    ///   - allowance: limits what the other side can cause; nil for a peer that this side has chosen.
    package init(
        loop: EventLoop, _ configuration: Configuration, pool: ICEAgentPool? = nil,
        allowance: (any TransportAllowance)?
    ) throws {
        path = try configuration.openPath(loop, pool, allowance)
        transport = try SecureTransport(
            loop: loop, isServer: configuration.role == .answerer, identity: configuration.identity,
            expectedFingerprint: configuration.fingerprint, path: path)
        localFingerprint = Fingerprint(sha256: configuration.identity.fingerprint)
        liveness = ConnectionLiveness(
            interruptionThreshold: configuration.interruptionThreshold, now: MonotonicClock.now)
        candidates = CandidateReporter(loop: loop, repeats: configuration.repeatsCandidates)
        let box = owner
        timer = loop.makeTimer { box.value?.pump() }
        livenessTimer = loop.makeTimer { box.value?.checkLiveness() }
        box.value = self
        transport.delegate = self
        candidates.begin(path)
        do throws(ICEFailure) {
            try path.gather()
        } catch {
            close()
            throw error
        }
    }

    package var isConnected: Bool { liveness.isConnected }
    /// Whether the other side is connected and not silent.
    package var isReceiving: Bool { liveness.isReceiving && !isEnded }
    /// The time since the last authentic packet.
    package var silence: MediaDuration { liveness.silence(MonotonicClock.now) }
    package var badPackets: Int {
        transport.badPackets + path.unusableCandidates + (receiver?.tooLongPackets ?? 0)
    }

    /// Applies the other side's description: media may flow as soon as ICE and DTLS are through.
    package func begin(
        _ description: some RemoteDescription, sender: MediaSender? = nil, receiver: MediaReceiver? = nil
    ) {
        let now = MonotonicClock.now
        (self.sender, self.receiver) = (sender, receiver)
        transport.expect(description.fingerprints)
        transport.takeRole(asServer: description.setup.counterpart == .passive)
        liveness.begin(now: now)
        livenessTimer.set(now + .seconds(1))
        begin(
            description.credentials, mid: description.video.first?.mid ?? description.audio.first?.mid,
            description.candidates, ended: description.endsCandidates)
    }

    // MARK: Media

    /// Sends what the sender and the receiver have to send, and reports what has been received.
    package func pump() {
        guard isConnected, !isEnded else { return }
        let now = MonotonicClock.now
        var (deadline, isCoarse) = (MediaInstant.distantFuture, true)
        if let sender { (deadline, isCoarse) = poll(sender, now) }
        if let receiver {
            guard let wait = poll(receiver, now) else { return }
            if wait.deadline < deadline { (deadline, isCoarse) = wait }
        }
        transport.flush()
        timer.set(deadline == .distantFuture ? nil : deadline, isCoarse: isCoarse)
    }

    private func poll(_ sender: MediaSender, _ now: MediaInstant) -> (deadline: MediaInstant, isCoarse: Bool) {
        while true {
            let left = sender.framesSent
            let output = sender.poll(now: now, into: transport.slot)
            if sender.framesSent != left, !liveness.isInterrupted { report(.frameSent(now)) }
            switch output {
            // A silent receiver gets only probes. Other packets are dropped, and a key frame follows when it is heard
            // again.
            case .rtp(let length):
                if maySend(now), let packet = transport.sendMedia(length) { sender.keepProtected(packet) }
            case .protected(let length): if maySend(now) { transport.sendProtected(length) }
            case .rtcp(let length): transport.sendControl(length)
            case .event(.keyframeNeeded): report(.keyframeNeeded)
            case .event(.recoveryNeeded(let number)): report(.recoveryNeeded(from: number))
            case .event(.skipFrameDue): report(.skipFrameDue)
            case .event(.estimateChanged): break
            case .wait(let deadline, let reason): return (deadline, reason == .report)
            }
        }
    }

    /// - Returns: nil if the connection has ended.
    private func poll(_ receiver: MediaReceiver, _ now: MediaInstant) -> (deadline: MediaInstant, isCoarse: Bool)? {
        while true {
            switch receiver.poll(now: now, into: transport.slot) {
            case .rtcp(let length): transport.sendControl(length)
            case .frame(let bytes, let info): report(.frame(bytes, info))
            case .audio(let bytes, let info): report(.audio(bytes, info))
            case .event(.bye):
                end(.closed)
                return nil
            case .event: break
            case .wait(let deadline, let reason): return (deadline, reason == .report)
            }
        }
    }

    /// A silent receiver whose address answers checks gets single packets: its feedback on them arrives sooner than its
    /// next report, which may be a second away.
    private func maySend(_ now: MediaInstant) -> Bool {
        !liveness.isInterrupted
            || path.hasAnswered(within: .milliseconds(1_500), now: now) && liveness.takeProbe(now: now)
    }

    /// Adds the memory that a thread of the fan-out is going to use.
    package func addMemory(to list: inout PrefetchList) { list.add(self, bytes: 192) }

    // MARK: Liveness

    /// A viewer has opened an event stream, or has closed its last one.
    package func eventStreamChanged(isOpen: Bool) {
        liveness.noteEventStream(isOpen: isOpen, now: MonotonicClock.now)
    }

    private func checkLiveness() {
        guard !isEnded else { return }
        let now = MonotonicClock.now
        let isConsenting = sender != nil && isConnected && path.hasAnswered(within: Self.consentInterval, now: now)
        switch liveness.check(
            now, connectLimit: SecureTransport.connectLimit, isConsenting: isConsenting,
            isPathGone: isAddressGone(now))
        {
        case .notConnected:
            return end(transport.handshakeFailure.map { .failed($0) } ?? .noRoute(path.report))
        case .expired: return end(.silent(isConsenting: isConsenting))
        case .withoutRTCP: return end(.withoutRTCP)
        case .crashed: return end(.crashed)
        case .interrupted: report(.interrupted)
        case nil: break
        }
        if isConnected { report(.checked) }
        // The time for connecting is the same at both ends, so this end is not to be late.
        livenessTimer.set(now + (isConnected ? .milliseconds(250) : .seconds(1)), isCoarse: isConnected)
    }

    /// Whether the machine has lost the address that media is received at.
    private func isAddressGone(_ now: MediaInstant) -> Bool {
        guard receiver != nil, isReceiving, liveness.silence(now) > Self.suspicion, let own = path.localAddress,
            own != "127.0.0.1"
        else { return false }
        return !ICEAgent.localInterfaceAddresses().contains(own)
    }

    /// Handles the arrival of an authentic packet. For a sender, packets from another address than that of the selected
    /// pair do not count, because they do not show that media arrives.
    private func heard() {
        guard receiver != nil || transport.isFromSelectedPair else { return }
        if let silence = liveness.heard(MonotonicClock.now) { report(.resumed(after: silence)) }
    }

    private func report(_ event: Event) { delegate?.connection(reported: event) }

    // MARK: Ending

    /// Says goodbye, and frees everything. May be called more than once.
    /// - Parameter done: called on the loop when the sockets are closed; the loop must not stop before.
    package func close(_ done: @escaping () -> Void = {}) {
        guard !isEnded else { return transport.close(done) }
        isEnded = true
        if isConnected, let sender { sendGoodbye(sender) }
        timer.close()
        livenessTimer.close()
        owner.value = nil
        delegate = nil
        candidates.close()
        transport.close(done)
    }

    private func end(_ end: End) {
        guard !isEnded else { return }
        let delegate = delegate
        close()
        delegate?.connection(reported: .ended(end))
    }

    private func sendGoodbye(_ sender: MediaSender) {
        sender.end(now: MonotonicClock.now)
        for _ in 0..<64 {
            switch sender.poll(now: MonotonicClock.now, into: transport.slot) {
            case .rtp, .protected, .event: continue
            case .rtcp(let length): transport.sendControl(length)
            case .wait: return transport.flush()
            }
        }
        transport.flush()
    }
}

// MARK: Events of the transport

extension PeerConnection: SecureTransportDelegate {
    package func transportIsSecure(profile: SRTPProfile) {
        liveness.connect(now: MonotonicClock.now)
        report(.connected)
        pump()
    }

    package func transportEnded(_ reason: EndReason) { end(.failed(reason)) }

    package func transportReceivedCloseNotify() { end(.closed) }

    /// A receiver counts that as an interruption, and asks the host over HTTPS whether the session is over. A viewer
    /// whose event stream is open has not left.
    package func transportMissesPeer() {
        if receiver != nil {
            liveness.noteMissed()
            checkLiveness()
        } else if !liveness.hasEventStream {
            end(.closed)
        }
    }

    package func transportSelectedNewPair() {
        report(.selectedNewPair)
        pump()
    }

    package func transport(received rtp: UnsafeRawBufferPointer, at arrival: MediaInstant) {
        heard()
        receivedBytes &+= rtp.count
        guard let receiver else { return }
        receiver.handleRTP(rtp, arrival: arrival, now: MonotonicClock.now)
        pump()
    }

    package func transport(receivedControl rtcp: UnsafeRawBufferPointer) {
        heard()
        receivedBytes &+= rtcp.count
        let now = MonotonicClock.now
        receiver?.handleRTCP(rtcp, now: now)
        sender?.handleRTCP(rtcp, now: now)
        if receiver != nil || sender?.isPollDue(now: now) == true { pump() }
    }
}
