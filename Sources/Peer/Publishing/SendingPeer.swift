import Admission
import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerEngine
import RTPWire
import SessionDescription
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
    package let id: SessionID
    private let viewer: Viewer
    package let description: ViewerDescription
    private(set) var isConnected = false
    /// Connected, and not silent.
    var isReceiving: Bool { isConnected && !consent.isInterrupted }
    private var consent: ConsentFreshness
    private var remote: ICECredentials?
    private var restarts = ICERestartLimiter()
    /// When its last event stream was closed by itself.
    private var hungUp: MediaInstant?
    private var gate = TemporalLayerFilter()
    private var holds = FreezeMeter()
    private(set) var plan = EncodingSelector()
    private let allowance: ViewerAllowance
    /// It is connected or back, and the key frame that it begins with was not granted yet.
    private(set) var isOwedKeyframe = false
    private let loop: EventLoop
    private let transport: SecureTransport
    private let sender: MediaSender
    private let timer: LoopTimer
    private weak var delegate: (any SendingPeerDelegate)?
    private var isEnded = false
    private let candidates: CandidateReporter
    private let opened: MediaInstant
    private let liveness: LoopTimer

    /// The other side sends a receiver report at least each second, even while the picture rests.
    package static let patience = MediaDuration.seconds(4)

    init(
        id: SessionID, viewer: Viewer, description: ViewerDescription, loop: EventLoop,
        transport: SecureTransport, sender: MediaSender, allowance: ViewerAllowance,
        delegate: any SendingPeerDelegate
    ) {
        self.id = id
        self.viewer = viewer
        self.description = description
        self.loop = loop
        self.transport = transport
        candidates = CandidateReporter(loop: loop, transport: transport)
        self.sender = sender
        self.allowance = allowance
        self.delegate = delegate
        opened = MonotonicClock.now
        consent = ConsentFreshness(patience: Self.patience, now: opened)
        let box = WeakBox<SendingPeer>()
        timer = loop.makeTimer { box.value?.pump() }
        liveness = loop.makeTimer { box.value?.checkLiveness() }
        box.value = self
        transport.delegate = self
        liveness.set(opened + .seconds(1))
    }

    package var statistics: SenderStatistics { sender.statistics }
    var estimate: Bitrate { sender.estimate }
    var roundTripTime: MediaDuration? { sender.roundTripTime }
    var hasReferences: Bool { sender.hasReferences }
    func awaitsAcknowledgement(now: MediaInstant) -> Bool { sender.awaitsAcknowledgement(now: now) }
    /// It says when it has a picture, and has not yet: its first key frame may have been lost.
    var lacksPicture: Bool {
        guard let connected, sender.hasReferences, !sender.hasAcknowledged else { return false }
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

    private var connected: MediaInstant?
    var badPackets: Int { transport.badPackets }
    var path: String { transport.path }
    private var isCongested: Bool { isReceiving && sender.backlog > .milliseconds(20) }
    var backlog: MediaDuration { sender.backlog }
    package var limit: String? { sender.limit.words }

    // MARK: Setting up

    /// nil when it is closed.
    var localCredentials: ICECredentials? { isEnded ? nil : transport.localCredentials }

    package func gather() throws(ICEFailure) { try transport.gather() }

    /// See ``CandidateReporter/whenGathered(patience:wanted:_:)``.
    func whenGathered(
        patience: MediaDuration, wanted: ICECandidate.Kind?, _ body: @escaping ([ICECandidate], Bool) -> Void
    ) {
        candidates.whenGathered(patience: patience, wanted: wanted, body)
    }

    /// See ``CandidateReporter/trickle(_:)``.
    package func trickle(_ body: @escaping ([ICECandidate], Bool) -> Void) { candidates.trickle(body) }

    package func begin(remote: ICECredentials, candidates: CandidateList, ended: Bool) {
        self.remote = remote
        transport.start(remote: remote)
        add(candidates, ended: ended)
    }

    /// Whether a fragment with these credentials asks for a restart: they are not the current ones.
    func isRestart(_ credentials: ICECredentials) -> Bool { credentials != remote }

    /// Looks for a new way to the viewer (RFC 8445 section 2.4); the old one serves as long as it can. Then ask for
    /// `localCredentials` and `whenGathered`.
    /// - Returns: false if that cannot be done now; all stays as it is.
    package func restart() -> Bool {
        let now = MonotonicClock.now
        guard !isEnded, restarts.allows(hasProvenPair: transport.hasProvenPair, now: now) else { return false }
        do throws(ICEFailure) {
            try transport.restart()
        } catch {
            return false
        }
        restarts.noteRestart(now: now)
        candidates.reset()
        do throws(ICEFailure) {
            try transport.gather()
            return true
        } catch {
            return false
        }
    }

    package func add(_ candidates: CandidateList, ended: Bool) {
        transport.add(candidates, ended: ended)
    }

    // MARK: Sending

    /// - Parameter base: what frames of the base layer may take; nil if there is one layer only.
    package func send(_ frame: UnsafeRawBufferPointer, _ info: FrameInfo, base: Bitrate?, now: MediaInstant) {
        guard isConnected, !isEnded else { return }
        guard isReceiving else { return noteHold(info, isTaken: false) }
        // It can use no other frame of another encoding than a key frame.
        let isOwn = info.isKeyframe ? plan.noteKeyframe(of: info.encoding) : info.encoding == plan.encoding
        guard isOwn else { return }
        noteCongestion(now: now)
        // Browsers never recover from a stream that begins in the middle.
        let isAdmitted = gate.admits(
            isKeyframe: info.isKeyframe, layer: info.layer, bytes: frame.count, rate: sender.videoEstimate(now: now),
            base: base, now: now)
        noteHold(info, isTaken: isAdmitted)
        guard isAdmitted else { return }
        sender.handleFrame(
            frame, isKeyframe: info.isKeyframe, layer: info.layer, captured: info.captured, now: now,
            references: info.references)
        pump()
    }

    private func noteHold(_ info: FrameInfo, isTaken: Bool) {
        guard let change = info.changedSince else { return }
        holds.note(change: change, isTaken: isTaken)
    }

    /// Times for which a change of the picture waited here before it was sent to this viewer, and how long.
    func heldBack(now: MediaInstant) -> (count: Int, time: MediaDuration) { holds.figures(now: now) }

    // MARK: Beside others

    /// What it gets of an encoding that is made in two temporal layers or not.
    func layer(isLayered: Bool) -> ViewerLayer {
        guard isReceiving, !gate.isCutOff else { return .none }
        let hasAll = !isLayered || gate.layer > 0
        return plan.encoding == .main ? hasAll ? .all : .base : hasAll ? .low : .lowBase
    }
    /// It gets no frames until what waits for it has left.
    var isCutOff: Bool { isReceiving && gate.isCutOff }

    func noteCongestion(now: MediaInstant) { gate.note(isCongested: isCongested, now: now) }

    /// True once when it has been cut off and may have a key frame now.
    func takeReturn(now: MediaInstant) -> Bool { gate.takeReturn(now: now) }

    /// Whether it gets this encoding, or is about to.
    func uses(_ encoding: EncodingID) -> Bool { plan.encoding == encoding || plan.target == encoding }

    /// Adds what it can receive to its encoding's load, and to that of the one that it changes to.
    func contribute(to load: inout EncoderPolicy.Load, now: MediaInstant) {
        let rate = sender.videoEstimate(now: now)
        load.add(video: rate, audio: sender.audioEstimate)
        let counted = gate.isCutOff ? nil : rate
        if uses(.main) { contribute(counted, to: &load.main, isThere: plan.encoding == .main) }
        if uses(.low) { contribute(counted, to: &load.low, isThere: plan.encoding == .low) }
        let statistics = sender.statistics
        if !statistics.isAudioRedundant { load.loss = max(load.loss, statistics.fractionLost) }
        load.isDraining = load.isDraining || isCutOff
    }

    private func contribute(_ rate: Bitrate?, to load: inout EncodingLoad, isThere: Bool) {
        load.add(
            rate: rate, isWaiting: !isThere || !gate.isFollowing, congestedSince: isThere ? gate.congestedSince : nil)
    }

    /// Cuts it off if the base has waited for it long enough.
    func cutOffIfStuck(now: MediaInstant) -> Bool {
        guard gate.isFollowing, let since = gate.congestedSince, now - since > TemporalLayerFilter.patience else {
            return false
        }
        gate.cutOff(now: now)
        return true
    }

    /// - Returns: true if it is to go to another encoding now.
    func updatePlan(fastest: Bitrate, demand: Bitrate, now: MediaInstant) -> Bool {
        plan.update(
            rate: sender.videoEstimate(now: now), fastest: fastest, demand: demand, isCutOff: gate.isCutOff, now: now)
    }

    // MARK: Sound

    func sendAudio(_ packet: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard isReceiving, !isEnded else { return }
        sender.handleAudio(packet, track: track, captured: captured, now: now)
        pump()
    }

    private func pump() {
        guard isConnected, !isEnded else { return }
        while true {
            let now = MonotonicClock.now
            let left = sender.framesSent
            let output = sender.poll(now: now, into: transport.slot)
            if sender.framesSent != left, !consent.isInterrupted {
                holds.noteFrameSent(hasMore: sender.hasFramesWaiting, now: now)
            }
            switch output {
            // To somebody who is silent goes no media: what waits is dropped, and a key frame follows when they are back.
            case .rtp(let length):
                if !consent.isInterrupted, let packet = transport.sendMedia(length) { sender.keepProtected(packet) }
            case .protected(let length): if !consent.isInterrupted { transport.sendProtected(length) }
            case .rtcp(let length): transport.sendControl(length)
            case .event(.keyframeNeeded): delegate?.viewerNeedsKeyframe(self)
            case .event(.recoveryNeeded(let number)): delegate?.viewerNeedsRecovery(self, from: number)
            case .event(.estimateChanged): break
            case .wait(let deadline, _):
                transport.flush()
                timer.set(deadline == .distantFuture ? nil : deadline)
                return
            }
        }
    }

    private func checkLiveness() {
        guard !isEnded else { return }
        let now = MonotonicClock.now
        if !isConnected {
            guard now - opened > SecureTransport.connectLimit else { return liveness.set(now + .seconds(1)) }
            return end(EndReason(transport.route, other: "the viewer"))
        }
        switch consent.check(now) {
        case .expired: return end(EndReason(.connectionLost, "nothing came from the viewer for 30 s"))
        case .interrupted:
            gate.reset()
            if hasCrashed {
                return end(
                    EndReason(.connectionLost, "the viewer has gone: it hung up, and nothing comes from it any more"))
            }
            delegate?.viewerIsInterrupted(self)
        case nil: if isReceiving, isOwedKeyframe { delegate?.viewerNeedsKeyframe(self) }
        }
        liveness.set(now + .milliseconds(250))
    }

    package func listening(_ isOpen: Bool) { hungUp = isOpen ? nil : MonotonicClock.now }

    /// Its event stream was closed when its media ended: an outage is not told of.
    private var hasCrashed: Bool {
        guard let hungUp else { return false }
        return hungUp - consent.lastHeard < .milliseconds(1_500) && consent.lastHeard - hungUp < .milliseconds(1_500)
    }

    /// An authentic packet came. Only the address that media goes to gives consent to it: another one of the same viewer does not
    /// keep media flowing to one that has fallen silent.
    private func heard() {
        guard transport.isFromSelectedPair else { return }
        noteConsent()
    }

    private func noteConsent() {
        guard let silence = consent.heard(MonotonicClock.now) else { return }
        isOwedKeyframe = true
        delegate?.viewerIsBack(self, after: silence)
    }

    // MARK: Ending

    /// The newcomer is this viewer, who comes again instead of coming back: the same proven identity, or, with the fixed token, which
    /// proves none, the same certificate. Two programs of one person have one identity, but each says its own visit.
    func isReplaced(by newcomer: Viewer) -> Bool {
        guard newcomer.identity == viewer.identity, newcomer.fingerprint == viewer.fingerprint,
            newcomer.clientInstance == viewer.clientInstance
        else { return false }
        return viewer.clientInstance != nil || !isReceiving && (isConnected || viewer.knock != nil)
    }

    /// Frees everything. Twice is fine.
    package func close(_ done: @escaping () -> Void = {}) {
        guard !isEnded else { return transport.close(done) }
        isEnded = true
        if isConnected {
            sender.end(now: MonotonicClock.now)
            drainGoodbye()
        }
        timer.close()
        liveness.close()
        candidates.reset()
        transport.close(done)
    }

    private func drainGoodbye() {
        for _ in 0..<64 {
            switch sender.poll(now: MonotonicClock.now, into: transport.slot) {
            case .rtp, .protected: continue
            case .rtcp(let length): transport.sendControl(length)
            case .event: continue
            case .wait: return transport.flush()
            }
        }
        transport.flush()
    }

    private func end(_ reason: EndReason) {
        guard !isEnded else { return }
        close()
        delegate?.viewerEnded(self, reason)
    }

    // MARK: The transport's news

    func transportFoundCandidate() { candidates.foundCandidate() }

    func transportFinishedGathering() { candidates.finishedGathering() }

    func transportIsSecure(profile: SRTPProfile) {
        isConnected = true
        connected = connected ?? MonotonicClock.now
        noteConsent()
        isOwedKeyframe = true
        delegate?.viewerIsConnected(self)
        pump()
    }

    func transportEnded(_ reason: EndReason) { end(reason) }

    /// After seconds of loss. A peer of ours says at once what it can go on from; browsers wait for 3 s before they ask.
    func transportSelectedNewPair() {
        if !sender.hasReferences { delegate?.viewerNeedsKeyframe(self) }
    }

    package func transport(received rtp: UnsafeRawBufferPointer) { heard() }

    package func transport(receivedControl rtcp: UnsafeRawBufferPointer) {
        heard()
        sender.handleRTCP(rtcp, now: MonotonicClock.now)
        pump()
    }
}
