import Admission
import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerEngine
import Transport

/// What a broadcast hears of one of its viewers; on the network loop.
protocol SendingPeerDelegate: AnyObject {
    func viewerIsConnected(_ connection: SendingPeer)
    func viewerNeedsKeyframe(_ connection: SendingPeer)
    func viewerNeedsRecovery(_ connection: SendingPeer, from number: UInt32)
    /// Nothing comes from it; it gets no media until something does.
    func viewerIsInterrupted(_ connection: SendingPeer)
    /// It is heard again and needs a key frame.
    func viewerIsBack(_ connection: SendingPeer, after silence: MediaDuration)
    func viewerEnded(_ connection: SendingPeer, _ reason: EndReason)
}

/// The host's side of one viewer: its transport and its sender. Confined to the network loop.
final class SendingPeer: SecureTransportDelegate {
    let id: SessionID
    private let viewer: Viewer
    let description: ViewerDescription
    let negotiation: ICENegotiation
    let transport: SecureTransport
    let sender: MediaSender
    private let allowance: ViewerAllowance
    private(set) var liveness: ViewerLiveness
    var frames = FrameSelection()
    /// It is connected or back, and the key frame that it begins with was not granted yet.
    private(set) var isOwedKeyframe = false
    let timer: LoopTimer
    private let livenessTimer: LoopTimer
    private(set) weak var delegate: (any SendingPeerDelegate)?
    private(set) var isEnded = false

    /// The other side sends a receiver report at least each second, even while the picture rests.
    static let interruptionThreshold = MediaDuration.seconds(4)

    init(
        id: SessionID, viewer: Viewer, description: ViewerDescription, loop: EventLoop,
        path: ICEPath, transport: SecureTransport, sender: MediaSender, allowance: ViewerAllowance,
        delegate: any SendingPeerDelegate
    ) {
        self.id = id
        self.viewer = viewer
        self.description = description
        self.transport = transport
        negotiation = ICENegotiation(loop: loop, path: path)
        self.sender = sender
        self.allowance = allowance
        self.delegate = delegate
        let now = MonotonicClock.now
        liveness = ViewerLiveness(interruptionThreshold: Self.interruptionThreshold, now: now)
        let box = WeakBox<SendingPeer>()
        timer = loop.makeTimer { box.value?.pump() }
        livenessTimer = loop.makeTimer { box.value?.checkLiveness() }
        box.value = self
        transport.delegate = self
        livenessTimer.set(now + .seconds(1))
    }

    var isConnected: Bool { liveness.isConnected }
    /// Connected, and not silent.
    var isReceiving: Bool { liveness.isReceiving }
    var statistics: SenderStatistics { sender.statistics }
    var estimate: Bitrate { sender.estimate }
    var roundTripTime: MediaDuration? { sender.roundTripTime }
    var hasReferences: Bool { sender.hasReferences }
    func awaitsAcknowledgement(now: MediaInstant) -> Bool { sender.awaitsAcknowledgement(now: now) }
    /// It says when it has a picture, and has not yet: its first key frame may have been lost.
    var lacksPicture: Bool {
        guard let connected = liveness.connected, sender.hasReferences, !sender.hasAcknowledged else { return false }
        return MonotonicClock.now - connected < .seconds(3)
    }

    /// Whether a frame that it asks for is made; one that it needs because of what this side left out always is.
    /// - Parameter isShared: others get the same encoding, and would pay for it.
    func mayHave(_ frame: KeyframeRequestLimiter.Frame, isShared: Bool, now: MediaInstant) -> Bool {
        let hasLostFirst = lacksPicture && !isOwedKeyframe
        guard
            sender.hasGap
                || allowance.keyframes.take(frame, isShared: isShared, lacksPicture: hasLostFirst, now: now)
        else { return false }
        isOwedKeyframe = false
        return true
    }

    var badPackets: Int { transport.badPackets + negotiation.path.unusableCandidates }
    var pathSummary: String { negotiation.path.summary }
    var backlog: MediaDuration { sender.backlog }
    var limit: String? { sender.limit.words }

    // MARK: Liveness

    private func checkLiveness() {
        guard !isEnded else { return }
        let now = MonotonicClock.now
        switch liveness.check(now, connectLimit: SecureTransport.connectLimit) {
        case .notConnected: return end(EndReason(negotiation.path.report, other: "the viewer"))
        case .expired: return end(EndReason(.connectionLost, "nothing came from the viewer for 30 s"))
        case .crashed:
            return end(
                EndReason(.connectionLost, "the viewer has gone: it hung up, and nothing comes from it any more"))
        case .interrupted:
            frames.gate.reset()
            delegate?.viewerIsInterrupted(self)
        case nil: if isReceiving, isOwedKeyframe { delegate?.viewerNeedsKeyframe(self) }
        }
        livenessTimer.set(now + (isConnected ? .milliseconds(250) : .seconds(1)))
    }

    func eventStreamChanged(isOpen: Bool) { liveness.listening(isOpen, now: MonotonicClock.now) }

    /// An authentic packet came. Only the address that media goes to counts: another one of the same viewer does not
    /// keep media flowing to one that has fallen silent.
    private func heard() {
        guard transport.isFromSelectedPair else { return }
        noteHeard()
    }

    private func noteHeard() {
        guard let silence = liveness.heard(MonotonicClock.now) else { return }
        isOwedKeyframe = true
        delegate?.viewerIsBack(self, after: silence)
    }

    // MARK: Ending

    /// The newcomer is this viewer, who comes again instead of coming back: the same proven identity, or, with the
    /// fixed token, which proves none, the same certificate. Two programs of one person have one identity, but each
    /// says its own visit.
    func isReplaced(by newcomer: Viewer) -> Bool {
        guard newcomer.identity == viewer.identity, newcomer.fingerprint == viewer.fingerprint,
            newcomer.clientInstance == viewer.clientInstance
        else { return false }
        return viewer.clientInstance != nil || !isReceiving && (isConnected || viewer.knock != nil)
    }

    /// Frees everything. Twice is fine.
    func close(_ done: @escaping () -> Void = {}) {
        guard !isEnded else { return transport.close(done) }
        isEnded = true
        if isConnected {
            sender.end(now: MonotonicClock.now)
            drainGoodbye()
        }
        timer.close()
        livenessTimer.close()
        negotiation.close()
        transport.close(done)
    }

    private func end(_ reason: EndReason) {
        guard !isEnded else { return }
        close()
        delegate?.viewerEnded(self, reason)
    }

    // MARK: The transport's news

    func transportIsSecure(profile: SRTPProfile) {
        liveness.connect(now: MonotonicClock.now)
        noteHeard()
        isOwedKeyframe = true
        delegate?.viewerIsConnected(self)
        pump()
    }

    func transportEnded(_ reason: EndReason) { end(reason) }

    func transportWasClosed() { end(EndReason(.viewerLeft, "the viewer left")) }

    /// After seconds of loss. A peer of ours says at once what it can go on from; browsers wait for 3 s before they
    /// ask.
    func transportSelectedNewPair() {
        if !sender.hasReferences { delegate?.viewerNeedsKeyframe(self) }
    }

    func transport(received rtp: UnsafeRawBufferPointer) { heard() }

    func transport(receivedControl rtcp: UnsafeRawBufferPointer) {
        heard()
        sender.handleRTCP(rtcp, now: MonotonicClock.now)
        pump()
    }
}
