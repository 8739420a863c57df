import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import MediaEngine
package import PeerConnection
import PeerEngine
import RTPWire
import SessionDescription

/// Receives the events of a viewer session's connection to the host, on the network loop.
protocol ReceivingPeerDelegate: AnyObject {
    func hostIsConnected(_ connection: ReceivingPeer)
    func host(sent frame: EncodedFrameBytes, _ info: ReceivedFrame)
    func host(sentAudio packet: UnsafeRawBufferPointer?, _ info: ReceivedAudio)
    func hostEnded(_ reason: EndReason)
    /// No packets arrive from the host any more.
    func hostIsInterrupted(_ connection: ReceivingPeer)
    /// The host sends video packets that are too long, and are left out. Called once.
    func hostSendsTooLongPackets(_ connection: ReceivingPeer)
    /// The host is heard again.
    func hostIsBack(_ connection: ReceivingPeer, after silence: MediaDuration)
}

/// The viewer's side of a session: its transport and its receiver. Confined to the network loop.
final class ReceivingPeer: SecureTransportDelegate {
    private let loop: EventLoop
    let path: any NegotiatedPath
    let transport: SecureTransport
    private var receiver: MediaReceiver?
    private let timer: LoopTimer
    private let livenessTimer: LoopTimer
    private let owner = OwnerBox<ReceivingPeer>()
    private weak var delegate: (any ReceivingPeerDelegate)?
    private(set) var isSecure = false
    private var isEnded = false
    private var started: MediaInstant?
    /// The host seems to have gone, and has not been heard since.
    private var isMissed = false
    private var liveness = MediaLiveness(interruptionThreshold: interruptionThreshold, now: MonotonicClock.now)

    /// The silence that is an interruption. The host sends a sender report at least each second.
    static let interruptionThreshold = MediaDuration.seconds(3)
    /// The silence after which this machine's addresses are checked.
    static let suspicion = MediaDuration.milliseconds(1_500)

    init(loop: EventLoop, path: any NegotiatedPath, transport: SecureTransport, delegate: any ReceivingPeerDelegate) {
        self.loop = loop
        self.path = path
        self.transport = transport
        self.delegate = delegate
        let box = owner
        timer = loop.makeTimer { box.value?.pump() }
        livenessTimer = loop.makeTimer { box.value?.checkLiveness() }
        box.value = self
        transport.delegate = self
    }

    var statistics: ReceiverStatistics? { receiver?.statistics }
    var roundTripTime: MediaDuration? { receiver?.roundTripTime }
    /// The host's bandwidth estimate for the path to this viewer.
    var estimate: Bitrate? { receiver?.estimate }
    /// RTP and RTCP of this session, also of streams that nobody has announced.
    private(set) var receivedBytes = 0
    var badPackets: Int { transport.badPackets + path.unusableCandidates + (receiver?.tooLongPackets ?? 0) }
    private var hasToldTooLong = false

    /// Applies the sender's description.
    /// - Parameter forwarded: gets the video packets, too.
    func begin(
        _ remote: some RemoteDescription, packetCapacity: Int = 4_096, forwarded: ForwardedVideo? = nil
    ) {
        let now = MonotonicClock.now
        started = now
        receiver = MediaReceiver(
            parameters(remote, packetCapacity), seed: UInt64.random(in: .min ... .max), ntpEpoch: WallClock.now(),
            forwarded: forwarded, now: now)
        transport.expect(remote.fingerprints.others)
        transport.takeRole(asServer: remote.setup.counterpart == .passive)
        path.start(remote: remote.credentials)
        add(remote.candidates, ended: remote.endsCandidates)
        livenessTimer.set(now + .seconds(1))
        if isSecure { pump() }
    }

    /// Adds candidates that the host found after its answer.
    func add(_ candidates: CandidateList, ended: Bool) {
        path.add(candidates, ended: ended)
    }

    private func parameters(_ remote: some RemoteDescription, _ packetCapacity: Int) -> ReceiverParameters {
        let cname = String(UInt64.random(in: .min ... .max), radix: 36)
        return ReceiverParameters(
            video: remote.video.first.map {
                VideoStreamParameters(
                    ssrc: $0.ssrc ?? 0, codec: $0.codec, payloadType: $0.payloadType, rtxSSRC: $0.rtxSSRC,
                    rtxPayloadType: $0.rtxPayloadType, mid: $0.mid)
            },
            audio: remote.audio.map {
                AudioStreamParameters(
                    ssrc: $0.ssrc ?? 0, payloadType: $0.payloadType, redundantPayloadType: $0.redundantPayloadType,
                    mid: $0.mid)
            },
            extensions: remote.extensions, cname: cname,
            localSSRC: UInt32.random(in: 1...UInt32.max),
            usesTransportFeedback: remote.feedback.contains(.transportWide),
            sendsREMB: remote.feedback.contains(.remb), packetCapacity: packetCapacity)
    }

    var silence: MediaDuration { liveness.silence(MonotonicClock.now) }

    /// Applies the host's answer to an ICE restart.
    func applyRestartAnswer(_ credentials: ICECredentials, _ candidates: CandidateList, ended: Bool) {
        path.start(remote: credentials)
        add(candidates, ended: ended)
    }

    func requestKeyframe(_ request: KeyframeRequest) {
        receiver?.requestKeyframe(request, now: MonotonicClock.now)
        pump()
    }

    func limitBitrate(_ limit: Bitrate?) {
        receiver?.limitBitrate(limit)
        pump()
    }

    private func pump() {
        guard isSecure, !isEnded, let receiver else { return }
        let now = MonotonicClock.now
        while true {
            switch receiver.poll(now: now, into: transport.slot) {
            case .rtcp(let length): transport.sendControl(length)
            case .frame(let bytes, let info): delegate?.host(sent: bytes, info)
            case .audio(let bytes, let info): delegate?.host(sentAudio: bytes, info)
            case .event(.bye): return end(.hostClosed)
            case .event: break
            case .wait(let deadline, let reason):
                transport.flush()
                timer.set(deadline == .distantFuture ? nil : deadline, isCoarse: reason == .report)
                return
            }
        }
    }

    private func checkLiveness() {
        guard !isEnded, let started else { return }
        let now = MonotonicClock.now
        if !isSecure {
            guard now - started > SecureTransport.connectLimit else { return livenessTimer.set(now + .seconds(1)) }
            return end(transport.handshakeFailure ?? EndReason(path.report, other: "the host"))
        }
        switch liveness.check(now, isPathGone: isMissed || isAddressGone(now)) {
        case .expired: return end(.hostIsSilent)
        case .interrupted: delegate?.hostIsInterrupted(self)
        case nil: break
        }
        if !hasToldTooLong, receiver?.tooLongPackets ?? 0 > 0 {
            hasToldTooLong = true
            delegate?.hostSendsTooLongPackets(self)
        }
        livenessTimer.set(now + .milliseconds(250), isCoarse: true)
    }

    /// Whether the machine has lost the address that media is received at.
    private func isAddressGone(_ now: MediaInstant) -> Bool {
        guard !liveness.isInterrupted, liveness.silence(now) > Self.suspicion, let own = path.localAddress,
            own != "127.0.0.1"
        else { return false }
        return !ICEAgent.localInterfaceAddresses().contains(own)
    }

    /// Handles the arrival of an authentic packet.
    private func heard() {
        isMissed = false
        if let silence = liveness.heard(MonotonicClock.now) { delegate?.hostIsBack(self, after: silence) }
    }

    /// Frees everything. May be called more than once.
    func close(_ done: @escaping () -> Void = {}) {
        guard !isEnded else { return transport.close(done) }
        isEnded = true
        timer.close()
        livenessTimer.close()
        owner.value = nil
        transport.close(done)
    }

    private func end(_ reason: EndReason) {
        guard !isEnded else { return }
        close()
        delegate?.hostEnded(reason)
    }

    // MARK: Events of the transport

    func transportIsSecure(profile: SRTPProfile) {
        isSecure = true
        heard()
        delegate?.hostIsConnected(self)
        pump()
    }

    func transportEnded(_ reason: EndReason) { end(reason) }

    func transportReceivedCloseNotify() { end(.hostClosed) }

    /// An interruption, which asks the host over HTTPS whether the session is over.
    func transportMissesPeer() {
        isMissed = true
        checkLiveness()
    }

    func transportSelectedNewPair() { pump() }

    func transport(received rtp: UnsafeRawBufferPointer, at arrival: MediaInstant) {
        heard()
        receivedBytes &+= rtp.count
        receiver?.handleRTP(rtp, arrival: arrival, now: MonotonicClock.now)
        pump()
    }

    func transport(receivedControl rtcp: UnsafeRawBufferPointer) {
        heard()
        receivedBytes &+= rtcp.count
        receiver?.handleRTCP(rtcp, now: MonotonicClock.now)
        pump()
    }
}

extension EndReason {
    /// The reason for a session that the host closes, as far as the media says. An event of the host may give a better
    /// one (`ViewerSession.told`).
    package static let hostClosed = EndReason(.hostEnded, "the host ended the broadcast")

    /// The reason for a session that ends after `MediaLiveness.limit`.
    package static let hostIsSilent = EndReason(
        .connectionLost, "nothing came from the host for 30 s: it or the network between has gone")
}
