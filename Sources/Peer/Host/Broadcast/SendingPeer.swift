import Admission
import EventLoop
import ICETransport
import Identifiers
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine

/// Receives the events of one viewer's connection, on the network loop.
protocol SendingPeerDelegate: AnyObject {
    func viewerIsConnected(_ connection: SendingPeer)
    func viewerNeedsKeyframe(_ connection: SendingPeer)
    func viewerNeedsRecovery(_ connection: SendingPeer, from number: UInt32)
    /// No packets arrive from the viewer. It gets no media until one arrives.
    func viewerIsInterrupted(_ connection: SendingPeer)
    /// The viewer is heard again and needs a key frame.
    func viewerIsBack(_ connection: SendingPeer, after silence: MediaDuration)
    func viewerEnded(_ connection: SendingPeer, _ reason: EndReason)
}

/// The host's side of one viewer: its transport and its sender. Confined to the network loop.
final class SendingPeer: SecureTransportDelegate {
    let id: SessionID
    /// The number of the video's m-line in the viewer's offer; nil: it gets no video, or has not offered.
    let videoLine: Int?
    let viewer: Viewer
    let description: ViewerDescription
    let negotiation: ICENegotiation
    let transport: SecureTransport
    let sender: MediaSender
    private let allowance: ViewerAllowance
    private(set) var liveness: ViewerLiveness
    var frames = FrameSelection()
    /// The last report of layers that the viewer got.
    private var layerReport: (number: Int, encoding: EncodingID)?
    /// The viewer has connected or is heard again, and its key frame has not been requested yet.
    private(set) var needsKeyframe = false
    let timer: LoopTimer
    private let livenessTimer: LoopTimer
    private let owner = OwnerBox<SendingPeer>()
    private(set) weak var delegate: (any SendingPeerDelegate)?
    private(set) var isEnded = false
    /// The host's user has removed the viewer.
    var isRemoved = false
    /// The host has sent this viewer to a relay.
    var isMoved = false
    /// The viewer is a relay: what the slowest of its viewers can get, as it tells; nil: as much as the others.
    var slowestBehind: Bitrate?

    /// The silence that is an interruption. A viewer sends a receiver report at least each second, also without video.
    static let interruptionThreshold = MediaDuration.seconds(4)
    /// Longer than the interval of checks, 6 s at most (RFC 7675 section 5.1).
    private static let consentInterval = MediaDuration.milliseconds(6_500)

    init(
        id: SessionID, videoLine: Int?, viewer: Viewer, description: ViewerDescription, loop: EventLoop,
        negotiation: ICENegotiation, transport: SecureTransport, sender: MediaSender, allowance: ViewerAllowance,
        delegate: any SendingPeerDelegate
    ) {
        self.id = id
        self.videoLine = videoLine
        self.viewer = viewer
        self.description = description
        self.transport = transport
        self.negotiation = negotiation
        self.sender = sender
        self.allowance = allowance
        self.delegate = delegate
        let now = MonotonicClock.now
        liveness = ViewerLiveness(interruptionThreshold: Self.interruptionThreshold, now: now)
        let box = owner
        timer = loop.makeTimer { box.value?.pump() }
        livenessTimer = loop.makeTimer { box.value?.checkLiveness() }
        box.value = self
        transport.delegate = self
        livenessTimer.set(now + .seconds(1))
    }

    var isConnected: Bool { liveness.isConnected }
    /// Whether the viewer is connected and not silent.
    var isReceiving: Bool { liveness.isReceiving }
    var statistics: SenderStatistics { sender.statistics }
    var estimate: Bitrate { sender.estimate }
    /// The bitrate of all RTP packets in the last second.
    func sentBitrate(now: MediaInstant) -> Bitrate { sender.sentBitrate(now: now) }
    var roundTripTime: MediaDuration? { sender.roundTripTime }
    var hasReferences: Bool { sender.hasReferences }
    func awaitsAcknowledgement(now: MediaInstant) -> Bool { sender.awaitsAcknowledgement(now: now) }
    /// Whether the first key frame may have been lost: the viewer acknowledges frames, but has acknowledged none yet.
    var lacksFirstFrame: Bool {
        guard let connected = liveness.connected, sender.hasReferences, !sender.hasAcknowledged else { return false }
        return MonotonicClock.now - connected < .seconds(3)
    }

    /// Sends what was forwarded since the last key frame to a viewer that has got nothing yet.
    /// - Returns: false if it needs a key frame.
    func rewind() -> Bool {
        guard isReceiving, needsKeyframe, sender.rewindForwarded(now: MonotonicClock.now) else { return false }
        needsKeyframe = false
        pump()
        return true
    }

    /// Whether a requested key frame or recovery frame is made. Always true if the sender has dropped frames of this
    /// viewer.
    /// - Parameter isShared: other viewers get the same encoding, so the frame uses their bandwidth, too.
    func allows(_ frame: KeyframeRequestLimiter.Frame, isShared: Bool, now: MediaInstant) -> Bool {
        let hasLostFirst = lacksFirstFrame && !needsKeyframe
        guard
            sender.hasGap
                || allowance.keyframes.allows(frame, isShared: isShared, hasShownNoFrame: hasLostFirst, now: now)
        else { return false }
        needsKeyframe = false
        return true
    }

    /// - Returns: whether the viewer has not had this report of layers yet. It has it from then on.
    func takeReport(_ number: Int, of encoding: EncodingID) -> Bool {
        if let layerReport, layerReport == (number, encoding) { return false }
        layerReport = (number, encoding)
        return true
    }

    var badPackets: Int { transport.badPackets + negotiation.path.unusableCandidates }
    var pathSummary: String { negotiation.path.summary }
    var backlog: MediaDuration { sender.backlog }
    var qualityLimitationReason: String? { sender.limit.words }

    // MARK: Liveness

    private func checkLiveness() {
        guard !isEnded else { return }
        let now = MonotonicClock.now
        let isConsenting = isConnected && negotiation.path.hasAnswered(within: Self.consentInterval, now: now)
        switch liveness.check(now, connectLimit: SecureTransport.connectLimit, isConsenting: isConsenting) {
        case .notConnected:
            return end(transport.handshakeFailure ?? EndReason(negotiation.path.report, other: "the viewer"))
        case .expired where isConsenting:
            return end(EndReason(.connectionLost, "the viewer answers checks, but has sent no RTCP for 30 s"))
        case .expired: return end(EndReason(.connectionLost, "nothing came from the viewer for 30 s"))
        case .withoutRTCP:
            return end(
                EndReason(
                    .connectionLost,
                    "the viewer answers checks, but sends no RTCP on the port of RTP, as WebRTC requires",
                    remedy: "Its player has to send receiver reports (RFC 8834 section 4.1), with rtcp-mux."))
        case .crashed:
            return end(
                EndReason(.connectionLost, "the viewer has gone: it hung up, and nothing comes from it any more"))
        case .interrupted:
            frames.layerFilter.reset()
            sender.resetForwarded()
            delegate?.viewerIsInterrupted(self)
        case nil: if isReceiving, needsKeyframe { delegate?.viewerNeedsKeyframe(self) }
        }
        // The time for connecting is the same at both ends, so this end is not to be late.
        livenessTimer.set(now + (isConnected ? .milliseconds(250) : .seconds(1)), isCoarse: isConnected)
    }

    func eventStreamChanged(isOpen: Bool) { liveness.noteEventStream(isOpen: isOpen, now: MonotonicClock.now) }

    /// Handles the arrival of an authentic packet. Packets from another address than that of the selected pair do not
    /// count, because they do not show that media arrives.
    private func heard() {
        guard transport.isFromSelectedPair else { return }
        guard let silence = liveness.heard(MonotonicClock.now) else { return }
        needsKeyframe = true
        delegate?.viewerIsBack(self, after: silence)
    }

    // MARK: Ending

    /// Whether `newcomer` replaces this viewer: it has the same proven identity or, with the fixed token, which proves
    /// no identity, the same certificate. Two programs of one person share an identity, but have different client
    /// instances.
    func isReplaced(by newcomer: Viewer) -> Bool {
        guard newcomer.identity == viewer.identity, newcomer.fingerprint == viewer.fingerprint,
            newcomer.clientInstance == viewer.clientInstance
        else { return false }
        return viewer.clientInstance != nil || !isReceiving && (isConnected || viewer.knock != nil)
    }

    /// Frees everything. May be called more than once.
    func close(_ done: @escaping () -> Void = {}) {
        guard !isEnded else { return transport.close(done) }
        isEnded = true
        if isConnected {
            sender.end(now: MonotonicClock.now)
            drainGoodbye()
        }
        timer.close()
        livenessTimer.close()
        owner.value = nil
        negotiation.close()
        transport.close(done)
    }

    private func end(_ reason: EndReason) {
        guard !isEnded else { return }
        close()
        delegate?.viewerEnded(self, reason)
    }

    // MARK: Events of the transport

    func transportIsSecure(profile: SRTPProfile) {
        liveness.connect(now: MonotonicClock.now)
        needsKeyframe = true
        delegate?.viewerIsConnected(self)
        pump()
    }

    func transportEnded(_ reason: EndReason) { end(reason) }

    func transportReceivedCloseNotify() { end(EndReason(.viewerLeft, "the viewer left")) }

    /// A viewer whose event stream is open has not left.
    func transportMissesPeer() {
        guard !liveness.hasEventStream else { return }
        end(EndReason(.viewerLeft, "the viewer left"))
    }

    /// Handles the end of seconds of loss. A native viewer reports at once which reference it can recover from;
    /// browsers ask for a key frame only after 3 s.
    func transportSelectedNewPair() {
        if !sender.hasReferences { delegate?.viewerNeedsKeyframe(self) }
    }

    func transport(received rtp: UnsafeRawBufferPointer, at arrival: MediaInstant) { heard() }

    func transport(receivedControl rtcp: UnsafeRawBufferPointer) {
        heard()
        let now = MonotonicClock.now
        sender.handleRTCP(rtcp, now: now)
        if sender.isPollDue(now: now) { pump() }
    }
}
