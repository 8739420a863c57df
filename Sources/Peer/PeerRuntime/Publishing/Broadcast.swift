import ICETransport
import MediaCore
import MediaEngine
import RTPWire
import SessionDescription
import Signaling

/// What a host publishes, and to whom: one encoding (two while some are much slower), a connection a viewer. Confined to the network
/// loop.
final class Broadcast: SendingPeerDelegate {
    struct AudioTrack: Sendable {
        var label: String
        var hasSilenceSuppression: Bool
    }
    struct Settings: Sendable {
        var identity: SecureTransport.Identity
        var fingerprint: [UInt8]
        var maximumBitrate: Bitrate
        var audio: [AudioTrack]
        var maximumViewers: Int
        /// Bounds the ICE agents of all viewers.
        var agents = ICEAgentPool.Limits()
        /// Numeric; nil for all of the machine.
        var localAddresses: [String]?
        var includesLoopback: Bool
        var usesUPnP: Bool
        var usesOnlyRelays: Bool
        /// What viewers see.
        var name: String?
        /// What one viewer may have at most, if that is less than what all may; nil: nothing of its own.
        var viewerLimit: (@Sendable (ViewerDescription) -> Bitrate?)?
    }

    private let loop: NetworkLoop
    private let cname: String
    private let settings: Settings
    private let agents: ICEAgentPool
    private let allowances = ViewerAllowances(now: NetworkLoop.now())
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let frames: FrameQueues
    private let packets: FrameQueue<AudioPipeline.Info>
    private var viewers: [SessionID: SendingPeer] = [:]
    private var isEnded = false
    private var retired = (
        packets: 0, bytes: 0, retransmissions: 0, bad: 0, keyframeRequests: 0, freezes: 0,
        freezeTime: MediaDuration.zero
    )
    private var congestionTimer: LoopTimer?
    private var lastWish: Wish?
    /// What the main encoding took lately.
    private var mainRate = SentBitrateMeter()
    private var lastPlan: MediaInstant?
    /// Tells the video and the audio side what the viewers need.
    var control: ((Wish) -> Void)?
    /// A key frame of an encoding is needed: for a viewer that has no picture yet, or else for repair.
    var keyframe: ((EncodingID, Bool) -> Void)?
    /// A frame that refers to the kept one of this number alone would do for a viewer of that encoding.
    var recovery: ((EncodingID, UInt32) -> Void)?
    /// Whether frames of an encoding are kept, and whether a new one may be.
    var keeping: ((EncodingID, LongTermReferencePolicy) -> Void)?
    private var lastKeeping: (main: LongTermReferencePolicy, low: LongTermReferencePolicy)?
    /// STUN and TURN for those who come from now on.
    var servers = ICEServerResolver.Addresses()
    /// Candidates were found after the answer: all of these so far, as a trickle fragment.
    var foundLate: ((SessionID, String) -> Void)?
    /// A session is over; so many viewers stay.
    var left: ((SessionID, Int) -> Void)?

    struct Wish: Equatable {
        /// nil: nobody gets it.
        var main: EncodingTarget?
        var low: EncodingTarget?
        var audioLoss: Double
        /// What all sound together may take for the slowest and the fastest viewer; nil: as much as it likes.
        var audioLimits: ClosedRange<Bitrate>?

        var hasViewers: Bool { main != nil || low != nil }
        subscript(encoding: EncodingID) -> EncodingTarget? { encoding == .main ? main : low }
    }

    init(
        loop: NetworkLoop, settings: Settings, frames: FrameQueues,
        packets: FrameQueue<AudioPipeline.Info>, emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) {
        self.loop = loop
        self.settings = settings
        agents = ICEAgentPool(settings.agents)
        self.frames = frames
        self.packets = packets
        self.emit = emit
        cname = RandomName.random().text
        let box = WeakBox(self)
        congestionTimer = loop.makeTimer { box.value?.updateEncoderControl() }
    }

    // MARK: Viewers

    /// Answers an offer; calls back on the loop when candidates are known.
    func open(
        offer text: String, viewer: Viewer, words: String,
        answer done: @escaping @Sendable (Result<OpenedSession, OfferRefusal>) -> Void
    ) {
        guard !isEnded else { return done(.failure(OfferRefusal(.notLive, "The broadcast has ended."))) }
        let offer: ViewerOffer
        do throws(OfferError) {
            offer = try ViewerOffer(text)
        } catch {
            return done(.failure(error.refusal))
        }
        guard offer.fingerprint.bytes == viewer.fingerprint, let own = Fingerprint(sha256: settings.fingerprint) else {
            return done(
                .failure(OfferRefusal(.unprocessable, "The offer's certificate is not the one that was let in.")))
        }
        // Who comes again instead of coming back leaves nothing behind.
        for old in viewers.values where old.isReplaced(by: viewer) {
            old.close()
            viewerEnded(old, .replaced)
        }
        guard viewers.count < settings.maximumViewers else {
            return done(.failure(OfferRefusal(.busy, "The host has as many viewers as it can serve.")))
        }
        let id = SessionID.random()
        let description = ViewerDescription(
            name: viewer.name, kind: viewer.kind, address: viewer.address, words: words)
        var numbers = Set<UInt32>()
        while numbers.count < 4 { numbers.insert(UInt32.random(in: 1...UInt32.max)) }
        let ssrcs = Array(numbers)
        let connection: SendingPeer
        let allowance = allowances.allowance(for: viewer, now: NetworkLoop.now())
        do {
            let place = CandidatePolicy.place(of: viewer.address, own: ICEAgent.machineAddresses())
            let transport = try SecureTransport(
                loop: loop, isServer: true, identity: settings.identity, expectedFingerprint: viewer.fingerprint,
                ice: .init(
                    isControlling: false, stunServers: servers.stun, turnServers: servers.turn,
                    localAddresses: settings.localAddresses,
                    includesLoopback: settings.includesLoopback && isLoopbackOfUse(to: place),
                    usesOnlyRelays: settings.usesOnlyRelays, usesUPnP: settings.usesUPnP),
                limits: .init(
                    pool: agents, allowance: allowance, policy: CandidatePolicy(place)))
            transport.expect(offer.fingerprints.others)
            transport.servers = servers.urls
            let sender = MediaSender(
                parameters(offer, ssrcs, settings.viewerLimit?(description)), seed: UInt64.random(in: .min ... .max),
                ntpEpoch: WallClock.now(),
                now: NetworkLoop.now())
            connection = SendingPeer(
                id: id, viewer: viewer, description: description, loop: loop, transport: transport,
                sender: sender, allowance: allowance, delegate: self)
        } catch {
            return done(.failure(OfferRefusal(.busy, "The host cannot open a connection: \(error)")))
        }
        do throws(ICEFailure) {
            try connection.gather()
        } catch {
            connection.close()
            return done(.failure(OfferRefusal(.busy, "The host cannot open a connection: \(error)")))
        }
        viewers[id] = connection
        emit(.viewerJoined(description, viewers: viewers.count))
        connection.begin(
            remote: offer.credentials, candidates: offer.candidates, ended: !offer.isTrickling)
        // Who has knocked hears of later candidates through the events; a foreign player does not.
        let isTold = viewer.knock != nil
        connection.whenGathered(
            patience: isTold ? .milliseconds(200) : .seconds(4), wanted: wantedKind
        ) { [weak self, settings, cname] candidates, isComplete in
            guard let credentials = connection.localCredentials else {
                return done(.failure(OfferRefusal(.busy, "The host found no way to receive.")))
            }
            let media = HostMedia(
                credentials: credentials, fingerprint: own, candidates: candidates,
                endsCandidates: isComplete || !isTold, videoSSRC: ssrcs[0], rtxSSRC: ssrcs[1],
                audio: settings.audio.enumerated().map {
                    HostAudioTrack(
                        ssrc: ssrcs[2 + $0.offset], label: $0.element.label,
                        hasSilenceSuppression: $0.element.hasSilenceSuppression)
                }, cname: cname, streamID: "share", sessionID: UInt64.random(in: 1...(1 << 62)), name: settings.name)
            done(
                .success(
                    OpenedSession(id: id, answer: answer(to: offer, media), etag: credentials.usernameFragment)))
            guard isTold, !isComplete else { return }
            self?.trickleLate(connection, credentials, mid: offer.video?.mid ?? offer.audio.first?.mid)
        }
    }

    /// Of the candidate that an answer waits for; nil: it waits for no server's.
    private var wantedKind: ICECandidate.Kind? {
        if !servers.turn.isEmpty { return .relayed }
        return servers.stun.isEmpty ? nil : .serverReflexive
    }

    /// Tells the viewer what was found after the answer with these credentials.
    private func trickleLate(_ connection: SendingPeer, _ credentials: ICECredentials, mid: String?) {
        connection.trickle { [weak self, id = connection.id] late, isComplete in
            let fragment = TrickleFragment(
                credentials: credentials, mid: mid, candidates: CandidateList(late), endsCandidates: isComplete)
            self?.foundLate?(id, fragment.serialised)
        }
    }

    /// Servers elsewhere cannot be asked from 127.0.0.1, which keeps gathering busy, so with servers it is only for who came that
    /// way.
    private func isLoopbackOfUse(to place: CandidatePolicy.Place) -> Bool {
        place == .loopback || place == .thisMachine && servers.isEmpty
    }

    /// Takes a trickle fragment in: more candidates, or with other credentials than before a restart of ICE (RFC 9725
    /// section 4.4).
    /// - Parameter done: called on the loop; nil for candidates.
    func patch(
        _ text: String, _ id: SessionID, done: @escaping @Sendable (Result<RestartedSession?, OfferRefusal>) -> Void
    ) {
        guard let viewer = viewers[id] else {
            return done(.failure(OfferRefusal(.unknownSession, "There is no such session.")))
        }
        let fragment: TrickleFragment
        do throws(SDPError) {
            fragment = try TrickleFragment.parse(text)
        } catch {
            return done(.failure(OfferRefusal(.malformed, "That is not a trickle fragment.")))
        }
        guard !fragment.isEmpty else {
            return done(.failure(OfferRefusal(.malformed, "The fragment has neither candidates nor credentials.")))
        }
        guard !fragment.hasBrokenCredentials else {
            return done(
                .failure(OfferRefusal(.malformed, "The fragment has not both ice-ufrag and ice-pwd, well-formed.")))
        }
        guard let remote = fragment.credentials, viewer.isRestart(remote) else {
            viewer.add(fragment.candidates, ended: fragment.endsCandidates)
            return done(.success(nil))
        }
        guard viewer.restart() else {
            return done(.failure(OfferRefusal(.busy, "The host cannot look for another way now: try again later.")))
        }
        viewer.begin(remote: remote, candidates: fragment.candidates, ended: fragment.endsCandidates)
        let own = viewer.localCredentials
        // Its event stream is likely dead; so the answer holds what can be had within a second.
        viewer.whenGathered(patience: .seconds(1), wanted: wantedKind) { [weak self] candidates, isComplete in
            guard let own else { return done(.failure(OfferRefusal(.busy, "The host found no way to receive."))) }
            let answer = TrickleFragment(
                credentials: own, mid: fragment.mid, candidates: CandidateList(candidates), endsCandidates: isComplete)
            done(.success(RestartedSession(fragment: answer.serialised, etag: own.usernameFragment)))
            if !isComplete { self?.trickleLate(viewer, own, mid: fragment.mid) }
        }
    }

    func listening(_ isOpen: Bool, _ ids: [SessionID]) {
        for id in ids { viewers[id]?.listening(isOpen) }
    }

    func close(_ id: SessionID) {
        guard let viewer = viewers[id] else { return }
        viewer.close()
        viewerEnded(viewer, EndReason(.viewerLeft, "the viewer left"))
    }

    /// - Parameter done: called on the loop when every socket is closed.
    func end(_ done: @escaping () -> Void) {
        isEnded = true
        congestionTimer?.close()
        let connections = viewers.values
        viewers.removeAll()
        closeAll(connections, with: { $0.close($1) }, then: done)
    }

    private func parameters(_ offer: ViewerOffer, _ ssrcs: [UInt32], _ limit: Bitrate?) -> SenderParameters {
        let maximum = min(limit ?? settings.maximumBitrate, settings.maximumBitrate)
        let feedback = offer.video?.feedback ?? []
        return SenderParameters(
            video: offer.video.map {
                VideoStreamParameters(
                    ssrc: ssrcs[0], payloadType: $0.payloadType, rtxSSRC: $0.rtxPayloadType == nil ? nil : ssrcs[1],
                    rtxPayloadType: $0.rtxPayloadType, mid: $0.mid)
            },
            audio: zip(offer.audio, settings.audio.indices).map {
                AudioStreamParameters(
                    ssrc: ssrcs[2 + $1], payloadType: $0.payloadType, redundantPayloadType: $0.redundantPayloadType,
                    mid: $0.mid)
            },
            extensions: HeaderExtensionMap(
                offer.video?.extensions ?? offer.audio.first?.extensions,
                hasReferences: feedback.contains(.referenceSelection)), cname: cname,
            startBitrate: min(.kilobits(2_500), maximum), maximumBitrate: maximum,
            hasTransportFeedback: feedback.contains(.transportWide),
            hasBitrateEstimate: feedback.contains(.estimatedBitrate),
            historyCapacity: 2_048)
    }

    // MARK: Media

    /// Rung by the video thread.
    func framesArrived() {
        let now = NetworkLoop.now()
        deliver(frames.main, now)
        deliver(frames.low, now)
        updateEncoderControl()
        updateKeeping(now)
    }

    private func updateKeeping(_ now: MediaInstant) {
        let main = keepingWish(of: .main, now: now)
        let low = keepingWish(of: .low, now: now)
        if lastKeeping?.main != main { keeping?(.main, main) }
        if lastKeeping?.low != low { keeping?(.low, low) }
        lastKeeping = (main, low)
    }

    /// After each frame, as `updateEncoderControl`.
    private func keepingWish(of encoding: EncodingID, now: MediaInstant) -> LongTermReferencePolicy {
        var control = LongTermReferencePolicy(isRecoverable: false, mayStore: true)
        for viewer in viewers.values where viewer.isConnected && viewer.hasReferences {
            guard viewer.plan.encoding == encoding || viewer.plan.target == encoding else { continue }
            control.isRecoverable = true
            control.mayStore = control.mayStore && !viewer.awaitsAcknowledgement(now: now)
        }
        return control
    }

    private func deliver(_ frames: FrameQueue<FrameInfo>, _ now: MediaInstant) {
        while frames.pop({ bytes, info in
            if info.encoding == .main { mainRate.note(bytes: bytes.count, now: now) }
            let base = lastWish?[info.encoding]?.layering?.baseBitrate
            for viewer in viewers.values { viewer.send(bytes, info, base: base, now: now) }
        }) {}
    }

    /// Rung by the audio threads.
    func packetsArrived() {
        let now = NetworkLoop.now()
        while packets.pop({ bytes, info in
            for viewer in viewers.values {
                viewer.sendAudio(bytes, track: info.track, captured: info.captured, now: now)
            }
        }) {}
    }

    private func updateEncoderControl() {
        // After each frame: no array of the viewers is made.
        var main = EncodingLoad()
        var low = EncodingLoad()
        var fastest = Bitrate(bitsPerSecond: 0)
        var loss = 0.0
        var slowestAudio = Bitrate(bitsPerSecond: .max)
        var fastestAudio = Bitrate(bitsPerSecond: 0)
        var isDraining = false
        let now = NetworkLoop.now()
        for viewer in viewers.values where viewer.isReceiving {
            let rate = viewer.videoEstimate(now: now)
            viewer.noteCongestion(now: now)
            if viewer.takeReturn(now: now) { keyframe?(viewer.plan.target, false) }
            viewer.contribute(rate, to: &main, &low)
            fastest = max(fastest, rate)
            slowestAudio = min(slowestAudio, viewer.audioEstimate)
            fastestAudio = max(fastestAudio, viewer.audioEstimate)
            let statistics = viewer.statistics
            if !statistics.isSoundRedundant { loss = max(loss, statistics.fractionLost) }
            isDraining = isDraining || viewer.isCutOff
        }
        let new = Wish(
            main: demand(main, lastWish?.main, now), low: demand(low, lastWish?.low, now), audioLoss: loss,
            audioLimits: audioLimits(slowestAudio, fastestAudio))
        if main.congested > 0 || low.congested > 0 {
            congestionTimer?.set(now + .milliseconds(5))
        } else if isDraining {
            congestionTimer?.set(now + .milliseconds(50))
        }
        if new != lastWish {
            lastWish = new
            control?(new)
        }
        let hasCutOff = (main.isDivided || low.isDivided) && cutOffStuck(main, low, now)
        let isPlanned = viewers.count > 1 || lastWish?.low != nil
        if isPlanned, hasCutOff || lastPlan.map({ now - $0 >= .milliseconds(200) }) ?? true {
            lastPlan = now
            plan(fastest, now)
        }
    }

    /// In steps, so that not each new estimate is one for the sound; nil where there is enough for any.
    private func audioLimits(_ slowest: Bitrate, _ fastest: Bitrate) -> ClosedRange<Bitrate>? {
        let enough = Bitrate.kilobits(600)
        guard !settings.audio.isEmpty, slowest < enough, slowest <= fastest else { return nil }
        let steps = [slowest, min(fastest, enough)].map { Bitrate.kilobits($0.bitsPerSecond / 8_000 * 8) }
        return steps[0]...steps[1]
    }

    private func demand(_ load: EncodingLoad, _ last: EncodingTarget?, _ now: MediaInstant) -> EncodingTarget? {
        guard !load.isEmpty else { return nil }
        return load.demand(maximum: settings.maximumBitrate, wasLayered: last?.layering != nil, now: now)
    }

    /// Goes on without those for whom the base has waited long enough while others have room.
    private func cutOffStuck(_ main: EncodingLoad, _ low: EncodingLoad, _ now: MediaInstant) -> Bool {
        var hasCutOff = false
        for viewer in viewers.values where viewer.isReceiving {
            guard (viewer.plan.encoding == .main ? main : low).isDivided else { continue }
            hasCutOff = viewer.cutOffIfStuck(now: now) || hasCutOff
        }
        return hasCutOff
    }

    /// Moves viewers between encodings: each goes when a key frame of the other is there.
    private func plan(_ fastest: Bitrate, _ now: MediaInstant) {
        let demand = mainRate.rate(now: now)
        var hasMoves = false
        for viewer in viewers.values where viewer.isReceiving {
            guard viewer.updatePlan(fastest: fastest, demand: demand, now: now) else { continue }
            hasMoves = true
            keyframe?(viewer.plan.target, false)
        }
        // The encoding that they move to may not have been wanted so far.
        if hasMoves { updateEncoderControl() }
    }

    // MARK: News of the viewers

    func viewerIsConnected(_ connection: SendingPeer) {
        updateEncoderControl()
        updateKeeping(NetworkLoop.now())
        viewerNeedsKeyframe(connection)
        emit(.connected(connection.description, path: connection.path))
    }

    func viewerNeedsKeyframe(_ connection: SendingPeer) {
        let encoding = connection.plan.target
        let isFirst = connection.isOwedKeyframe || connection.lacksPicture
        guard connection.mayHave(.key, isShared: isShared(encoding), now: NetworkLoop.now()) else { return }
        keyframe?(encoding, isFirst)
    }

    /// More than one viewer gets this encoding, or is about to.
    private func isShared(_ encoding: EncodingID) -> Bool {
        var count = 0
        for viewer in viewers.values where viewer.isReceiving {
            count += viewer.plan.encoding == encoding || viewer.plan.target == encoding ? 1 : 0
        }
        return count > 1
    }

    func viewerNeedsRecovery(_ connection: SendingPeer, from number: UInt32) {
        // On its way to another encoding it will get a key frame anyway.
        let encoding = connection.plan.encoding
        guard encoding == connection.plan.target else { return viewerNeedsKeyframe(connection) }
        guard connection.mayHave(.recovery, isShared: isShared(encoding), now: NetworkLoop.now()) else { return }
        recovery?(encoding, number)
    }

    func viewerIsInterrupted(_ connection: SendingPeer) {
        updateEncoderControl()
        emit(.interrupted(connection.description))
    }

    func viewerIsBack(_ connection: SendingPeer, after silence: MediaDuration) {
        updateEncoderControl()
        viewerNeedsKeyframe(connection)
        emit(.resumed(connection.description, path: connection.path, after: silence))
    }

    func viewerEnded(_ connection: SendingPeer, _ reason: EndReason) {
        guard viewers.removeValue(forKey: connection.id) != nil else { return }
        let last = connection.statistics
        retired.packets += last.packetsSent
        retired.bytes += last.bytesSent
        retired.retransmissions += last.retransmissions
        retired.bad += connection.badPackets
        retired.keyframeRequests += last.keyframeRequests
        let held = connection.heldBack(now: NetworkLoop.now())
        retired.freezes += held.count
        retired.freezeTime = retired.freezeTime + held.time
        updateEncoderControl()
        left?(connection.id, viewers.count)
        emit(.viewerLeft(connection.description, reason: reason, viewers: viewers.count))
    }

    // MARK: Statistics

    var viewerCount: Int { viewers.count }

    func statistics(video: VideoPipelineStatistics) -> HostStatistics {
        var result = HostStatistics(
            viewers: viewers.count, connected: 0, video: video, packetsSent: retired.packets, bytesSent: retired.bytes,
            retransmissions: retired.retransmissions, estimate: nil, roundTrip: nil, limit: nil,
            freezes: retired.freezes, freezeTime: retired.freezeTime, keyframeRequests: retired.keyframeRequests,
            badPackets: retired.bad)
        let now = NetworkLoop.now()
        for viewer in viewers.values {
            let one = viewer.statistics
            let held = viewer.heldBack(now: now)
            result.freezes += held.count
            result.freezeTime = result.freezeTime + held.time
            result.keyframeRequests += one.keyframeRequests
            result.packetsSent += one.packetsSent
            result.bytesSent += one.bytesSent
            result.retransmissions += one.retransmissions
            result.badPackets += viewer.badPackets
            guard viewer.isConnected else { continue }
            result.connected += 1
            result.lowViewers += viewer.plan.encoding == .low ? 1 : 0
            let layer = viewer.layer(isLayered: lastWish?[viewer.plan.encoding]?.layering != nil)
            result.layers.append(layer)
            result.baseViewers += layer == .base || layer == .lowBase ? 1 : 0
            result.estimate = min(result.estimate ?? viewer.estimate, viewer.estimate)
            if let time = viewer.roundTripTime { result.roundTrip = max(result.roundTrip ?? time, time) }
            result.queue = max(result.queue ?? .zero, viewer.backlog)
            result.fractionLost = max(result.fractionLost, one.fractionLost)
            result.routes.append(viewer.path)
            result.limit = result.limit ?? viewer.limit
        }
        return result
    }
}

extension OfferError {
    var refusal: OfferRefusal {
        switch self {
        case .notSDP: OfferRefusal(.malformed, "The offer is not SDP.")
        case .tooLarge: OfferRefusal(.malformed, "The offer is too large.")
        case .noVP8: OfferRefusal(.notAcceptable, "The offer has no VP8, and the broadcast has nothing else.")
        case .nothingToReceive: OfferRefusal(.notAcceptable, "The offer receives neither VP8 nor Opus.")
        case .noBundle: OfferRefusal(.unprocessable, "The offer does not bundle its sections.")
        case .noRTCPMux: OfferRefusal(.unprocessable, "The offer has RTP and RTCP on different ports.")
        case .noCredentials: OfferRefusal(.unprocessable, "The offer has no ICE credentials.")
        case .noFingerprint: OfferRefusal(FingerprintError.missing)
        case .severalCertificates: OfferRefusal(FingerprintError.ambiguous)
        case .wrongDTLSRole: OfferRefusal(.unprocessable, "The offer wants the host to start DTLS.")
        case .noDTLSRole: OfferRefusal(.unprocessable, "The offer has no a=setup: it has to say actpass, or active.")
        case .noMediaIdentification:
            OfferRefusal(.unprocessable, "The offer bundles its sections, but they have no a=mid.")
        }
    }
}

extension HeaderExtensionMap {
    init(_ map: HeaderExtensionMap?, hasReferences: Bool) {
        self = map ?? HeaderExtensionMap()
        if !hasReferences { self[.frameReferences] = nil }
    }
}
