import ICETransport
import MediaCore
import MediaEngine
import RTPWire
import SessionDescription
import Signaling

/// What a broadcast hears of one of its viewers; on the network loop.
protocol ViewerConnectionDelegate: AnyObject {
    func viewerIsConnected(_ connection: ViewerConnection)
    func viewerNeedsKeyframe(_ connection: ViewerConnection)
    func viewerEnded(_ connection: ViewerConnection, _ reason: EndReason)
}

/// The host's side of one viewer: its transport and its sender. Confined to the network loop.
final class ViewerConnection: SecureTransportDelegate {
    let id: SessionID
    let description: ViewerDescription
    private(set) var isConnected = false
    private var hasKeyframe = false
    private let loop: NetworkLoop
    private let transport: SecureTransport
    private let sender: MediaSender
    private let timer: LoopTimer
    private weak var delegate: (any ViewerConnectionDelegate)?
    private var isEnded = false
    private var candidates: [ICECandidate] = []
    private var onGathered: (() -> Void)?
    /// How many candidates the answer has; later ones are trickled.
    private var answered = 0
    private var wanted: ICECandidate.Kind?
    private var onLate: (([ICECandidate], Bool) -> Void)?
    private var lateTimer: LoopTimer?
    private let opened: MediaInstant
    private let liveness: LoopTimer

    /// The other side sends a receiver report at least each second, even while the picture rests.
    static let silenceLimit = MediaDuration.seconds(4)
    /// From the offer to media.
    static let connectLimit = MediaDuration.seconds(20)

    init(
        id: SessionID, description: ViewerDescription, loop: NetworkLoop, transport: SecureTransport,
        sender: MediaSender,
        delegate: any ViewerConnectionDelegate
    ) {
        self.id = id
        self.description = description
        self.loop = loop
        self.transport = transport
        self.sender = sender
        self.delegate = delegate
        opened = NetworkLoop.now()
        let box = WeakBox<ViewerConnection>()
        timer = loop.makeTimer { box.value?.pump() }
        liveness = loop.makeTimer { box.value?.checkLiveness() }
        box.value = self
        transport.delegate = self
        liveness.set(opened + .seconds(1))
    }

    var statistics: SenderStatistics { sender.statistics }
    var estimate: Bitrate { sender.estimate }
    /// What frames may take of it.
    func videoEstimate(now: MediaInstant) -> Bitrate { sender.videoEstimate(now: now) }
    var roundTripTime: MediaDuration? { sender.roundTripTime }
    var badPackets: Int { transport.badPackets }
    var path: String { transport.path }
    var isCongested: Bool { isConnected && sender.backlog > .milliseconds(20) }
    var limit: String? { sender.limit.words }

    // MARK: Setting up

    var localCredentials: ICECredentials? { transport.localCredentials }

    func gather() throws(ICEFailure) { try transport.gather() }

    /// Calls back once, with what was found and whether that is all: at once if gathering is over, or when a candidate
    /// of the wanted kind has come, or when patience is over.
    func whenGathered(
        patience: MediaDuration, wanted: ICECandidate.Kind?, _ body: @escaping ([ICECandidate], Bool) -> Void
    ) {
        self.wanted = wanted
        onGathered = { [weak self] in
            guard let self else { return body([], true) }
            answered = candidates.count
            body(candidates, transport.hasGathered)
        }
        if transport.hasGathered || hasWanted { return finishGathering() }
        let box = WeakBox(self)
        let timer = loop.makeTimer { box.value?.finishGathering() }
        timer.set(NetworkLoop.now() + patience)
        gatheringPatience = timer
    }

    private var hasWanted: Bool { wanted.map { kind in candidates.contains { $0.kind == kind } } ?? false }

    /// After `whenGathered`: calls back with all candidates that came later, each time that there are more, and at the end.
    func trickle(_ body: @escaping ([ICECandidate], Bool) -> Void) {
        onLate = body
        let box = WeakBox(self)
        lateTimer = loop.makeTimer { box.value?.tellLate() }
        if transport.hasGathered || candidates.count > answered { tellLate() }
    }

    private func tellLate() {
        guard !isEnded, let onLate else { return }
        let isComplete = transport.hasGathered
        onLate(Array(candidates.dropFirst(answered)), isComplete)
        if isComplete { self.onLate = nil }
    }

    private var gatheringPatience: LoopTimer?

    private func finishGathering() {
        gatheringPatience?.close()
        gatheringPatience = nil
        let body = onGathered
        onGathered = nil
        body?()
    }

    func begin(remote: ICECredentials, candidates: CandidateList, ended: Bool) {
        transport.start(remote: remote)
        add(candidates, ended: ended)
    }

    func add(_ candidates: CandidateList, ended: Bool) {
        for candidate in candidates.usable { transport.add(candidate) }
        if ended { transport.endOfCandidates() }
    }

    // MARK: Sending

    func send(_ frame: UnsafeRawBufferPointer, _ info: FrameInfo, now: MediaInstant) {
        guard isConnected, !isEnded else { return }
        // Browsers never recover from a stream that begins in the middle.
        hasKeyframe = hasKeyframe || info.isKeyframe
        guard hasKeyframe else { return }
        sender.handleFrame(frame, isKeyframe: info.isKeyframe, layer: info.layer, captured: info.captured, now: now)
        pump()
    }

    func sendAudio(_ packet: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard isConnected, !isEnded else { return }
        sender.handleAudio(packet, track: track, captured: captured, now: now)
        pump()
    }

    private func pump() {
        guard isConnected, !isEnded else { return }
        while true {
            let now = NetworkLoop.now()
            switch sender.poll(now: now, into: transport.slot) {
            case .rtp(let length): transport.sendMedia(length)
            case .rtcp(let length): transport.sendControl(length)
            case .event(.keyframeNeeded): delegate?.viewerNeedsKeyframe(self)
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
        let now = NetworkLoop.now()
        if !isConnected {
            guard now - opened > Self.connectLimit else { return liveness.set(now + .seconds(1)) }
            return end(EndReason(.noRoute, "no connection came about within 20 s: " + transport.routeReport))
        }
        let heard = transport.lastHeard ?? opened
        guard now - heard > Self.silenceLimit else { return liveness.set(now + .milliseconds(500)) }
        end(EndReason(.connectionLost, "nothing came from the viewer for 4 s"))
    }

    // MARK: Ending

    /// Frees everything. Twice is fine.
    func close(_ done: @escaping () -> Void = {}) {
        guard !isEnded else { return transport.close(done) }
        isEnded = true
        if isConnected {
            sender.end(now: NetworkLoop.now())
            drainGoodbye()
        }
        timer.close()
        liveness.close()
        gatheringPatience?.close()
        lateTimer?.close()
        onLate = nil
        transport.close(done)
    }

    private func drainGoodbye() {
        for _ in 0..<64 {
            switch sender.poll(now: NetworkLoop.now(), into: transport.slot) {
            case .rtp: continue
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

    func transport(gathered candidate: String) {
        guard let candidate = ICECandidate(candidate) else { return }
        candidates.append(candidate)
        if onGathered != nil, hasWanted { finishGathering() }
        // What comes together is told together.
        if onLate != nil { lateTimer?.set(NetworkLoop.now() + .milliseconds(20)) }
    }

    func transportFinishedGathering() {
        finishGathering()
        tellLate()
    }

    func transportIsSecure(profile: SRTPProfile) {
        isConnected = true
        delegate?.viewerIsConnected(self)
        pump()
    }

    func transportEnded(_ reason: EndReason) { end(reason) }
    func transport(received rtp: UnsafeRawBufferPointer) {}

    func transport(receivedControl rtcp: UnsafeRawBufferPointer) {
        sender.handleRTCP(rtcp, now: NetworkLoop.now())
        pump()
    }
}

/// Lets a callback that is made before its owner hold it.
final class WeakBox<Object: AnyObject> {
    weak var value: Object?
    init(_ value: Object? = nil) { self.value = value }
}
