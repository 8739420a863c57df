package import Admission
package import EventLoop
package import ICETransport
package import Identifiers
package import Identity
import LinuxRuntime
package import MediaCore
package import MediaEngine
package import PeerConnection
import RTPWire
package import SessionDescription

/// What a broadcast reports.
package enum BroadcastReport: Sendable {
    case event(BroadcastEvent)
    /// Candidates were found after the answer: all of them so far, as a trickle fragment (RFC 8840).
    case candidates(String, of: SessionID)
    /// This process has begun to record, or has stopped.
    case audience(Audience)
    /// The temporal layers of the video that sessions get have changed, or their bitrates.
    /// - Parameter line: the number of the video's m-line.
    case layers([VideoLayer], line: Int, of: [SessionID])
    /// The offer of a viewer was answered.
    case opened(SessionID, Viewer)
    /// A viewer with these sessions has opened an event stream.
    case eventStreamOpened([SessionID])
    /// The media of a session can flow: its viewer's certificate is verified.
    case connected(SessionID)
    /// A session is over; the audience remains.
    case ended(SessionID, Audience)
    /// The last session of a viewer is over. Only with `Settings.tellsWhoLeaves`.
    case left(Viewer)
    /// The sessions of a viewer have ended, because another one needed the place.
    case displaced(Viewer)
}

/// Receives the reports of a broadcast, on the network loop.
package protocol BroadcastDelegate: AnyObject {
    func handle(_ report: BroadcastReport)
}

/// Sends one broadcast to its viewers: answers their offers, passes encoded frames and audio packets to each, and
/// steers the encoders by what they can receive. Confined to the network loop.
package final class Broadcast {
    package struct AudioTrack: Sendable {
        package var kind: MediaTrackKind
        package var hasSilenceSuppression: Bool

        package init(kind: MediaTrackKind, hasSilenceSuppression: Bool) {
            self.kind = kind
            self.hasSilenceSuppression = hasSilenceSuppression
        }
    }
    package struct Settings: Sendable {
        package var identity: Identity
        package var maximumBitrate: Bitrate
        package var audio: [AudioTrack]
        package var viewers: ViewerPolicy
        /// The delegate learns which viewers leave, as they have keys of the media.
        package var tellsWhoLeaves = false
        /// Bounds the ICE agents of all viewers.
        package var agents = ICEAgentPool.Limits()
        /// The addresses and ports of each of them.
        package var agent = ICEAgent.Configuration(isControlling: false, includesLoopback: true)
        /// The UDP port that all viewers share; nil: each has sockets of its own.
        package var socket: LoopBound<ICELiteSocket>?
        /// Sends forwarded media; nil: the broadcast has its own, without further threads.
        package var fanOut: LoopBound<FanOut>?
        /// The name that viewers see.
        package var name: String?
        package var capabilities = MediaCapabilities.sending

        package init(identity: Identity, maximumBitrate: Bitrate, audio: [AudioTrack], viewers: ViewerPolicy) {
            self.identity = identity
            self.maximumBitrate = maximumBitrate
            self.audio = audio
            self.viewers = viewers
        }
    }

    package let loop: EventLoop
    var connections: PeerConnectionFactory
    let source: any EncodedMediaSource
    /// Sends the source's forwarded media; nil if it encodes.
    let forwarding: ForwardingOutput?
    var viewers: ViewerRoster
    var receivers: [LocalReceiver] = []
    /// Sessions that this host has offered and that wait for their answer.
    var offers: [SessionID: PendingPeer] = [:]
    var holding = BroadcastHoldState()
    private(set) var isEnded = false
    private var congestionTimer: LoopTimer?
    private(set) var policy: EncoderPolicy
    var layerReporter = LayerReporter()
    private var lastReferences: (main: LongTermReferencePolicy?, low: LongTermReferencePolicy?)
    /// Of what goes to relays; nil: nothing is encrypted.
    package var encryption: BroadcastEncryption?
    package weak var delegate: (any BroadcastDelegate)?

    /// - Parameters:
    ///   - agents: those of several broadcasts; nil: of this one alone, by `settings`.
    ///   - places: of the viewers of several broadcasts; nil: there is no limit for them together.
    package init(
        loop: EventLoop, settings: Settings, source: any EncodedMediaSource, agents: ICEAgentPool? = nil,
        places: ViewerPlaces? = nil
    ) {
        viewers = ViewerRoster(places: [ViewerPlaces(settings.viewers.maximum)] + [places].compactMap(\.self))
        self.loop = loop
        connections = PeerConnectionFactory(loop: loop, settings: settings, agents: agents)
        self.source = source
        forwarding = source.forwarded.map { media in
            ForwardingOutput(media.assumeIsolated { $0 }, settings.fanOut?.assumeIsolated { $0 } ?? FanOut())
        }
        policy = EncoderPolicy(maximumBitrate: settings.maximumBitrate, hasAudio: !settings.audio.isEmpty)
        let box = WeakBox(self)
        congestionTimer = loop.makeTimer { box.value?.updateEncoders() }
    }

    package var settings: Settings { connections.settings }
    /// STUN and TURN servers for sessions that are opened from now on.
    package var servers: ICEServerPreparation.Addresses {
        get { connections.servers }
        set { connections.servers = newValue }
    }

    package func emit(_ event: BroadcastEvent) { delegate?.handle(.event(event)) }

    package var audience: Audience {
        Audience(
            viewers: viewers.audience,
            recorders: viewers.all.count { $0.viewer.records } + receivers.count { $0.records })
    }

    // MARK: Sessions

    /// The viewer of these sessions has opened an event stream, or has closed its last one.
    package func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) {
        for id in sessions { viewers[id]?.connection.eventStreamChanged(isOpen: isOpen) }
        if isOpen { delegate?.handle(.eventStreamOpened(sessions)) }
    }

    package func close(_ id: SessionID) {
        guard let viewer = viewers[id] else { return }
        end(viewer, EndReason(.viewerLeft, "the viewer left"))
    }

    /// Ends the session of a viewer, which has not ended itself.
    func end(_ peer: ViewerPeer, _ reason: EndReason) {
        peer.connection.close()
        viewerEnded(peer, reason)
    }

    /// - Parameter done: called on the loop when every socket is closed.
    package func end(_ done: @escaping () -> Void) {
        isEnded = true
        congestionTimer?.close()
        receivers = []
        let connections = offers.values.map(\.connection) + viewers.removeAll().map(\.connection)
        offers = [:]
        closeAll(connections, with: { $0.close($1) }, then: done)
    }

    // MARK: Media

    /// Called when the video thread has queued frames.
    package func videoFramesQueued() {
        let now = MonotonicClock.now
        while let encoding = oldestEncoding, deliver(encoding, now) {}
        updateEncoders()
        updateReferences(now)
        reportLayers(now: now)
    }

    /// The bandwidth estimates of the viewers that are connected; nil if there are none.
    /// - Parameter behind: what viewers that are relays tell of their slowest viewers.
    package func audienceEstimates(behind: [Bitrate]) -> AudienceEstimates? {
        AudienceEstimates(viewers.all.lazy.filter(\.isReceiving).map(\.sender.estimate), behind: behind)
    }

    /// A relay tells what the slowest of its viewers can get; nil: as much as the others.
    package func note(slowest: Bitrate?, behind id: SessionID) {
        guard let relay = viewers[id], relay.slowestBehind != slowest else { return }
        relay.slowestBehind = slowest
        updateEncoders()
    }

    /// Called when the forwarded media has got packets.
    package func packetsForwarded() {
        let all = Array(viewers.all)
        guard let forwarding, !all.isEmpty else { return }
        let now = MonotonicClock.now
        forwarding.send(to: all, now: now)
        for viewer in all { viewer.connection.pump() }
        if forwarding.media.video != nil { reportLayers(now: now) }
    }

    /// The encoding whose frame was captured first, as a viewer that changes over must not see an older picture. The
    /// main one if both are of one picture.
    private var oldestEncoding: EncodingID? {
        switch (source.frames.main.oldest?.captured, source.frames.low.oldest?.captured) {
        case (let main?, let low?): low < main ? .low : .main
        case (.some, nil): .main
        case (nil, .some): .low
        case (nil, nil): nil
        }
    }

    /// - Returns: false if there was no frame.
    private func deliver(_ encoding: EncodingID, _ now: MediaInstant) -> Bool {
        source.frames[encoding].pop { bytes, info in
            guard !holding.withholds(info) else { return }
            policy.note(frameOf: encoding, bytes: bytes.count, now: now)
            layerReporter.note(bytes, info, now: now)
            let base = policy.decision?[encoding]?.layering?.baseBitrate
            viewers.shownFrames.note(info.captured, now: now)
            for viewer in viewers.all { viewer.send(bytes, info, base: base, now: now) }
            if encoding == .main { for receiver in receivers { receiver.receive(bytes, info) } }
        }
    }

    /// Called when an audio thread has queued packets.
    package func audioPacketsQueued() {
        let now = MonotonicClock.now
        while source.packets.pop({ bytes, info in
            guard !holding.withholdsAudio(captured: info.captured) else { return }
            for viewer in viewers.all {
                viewer.sendAudio(bytes, track: info.track, captured: info.captured, now: now)
            }
            for receiver in receivers { receiver.receive(bytes, info) }
        }) {}
    }

    // MARK: The encoders

    /// Runs when a session begins, is connected or ends.
    func expectViewers() {
        guard forwarding == nil else { return }
        let now = MonotonicClock.now
        var audience = EncodingAudience()
        for viewer in viewers.all where !viewer.isConnected {
            audience.add(rate: viewer.sender.videoEstimate(now: now), isWaiting: true, congestedSince: nil)
        }
        if policy.expect(audience, now: now) { source.expectViewers(policy.expected) }
    }

    /// Runs after each frame, and while viewers have a backlog.
    func updateEncoders() {
        // There are none.
        guard forwarding == nil else { return }
        let now = MonotonicClock.now
        var load = EncoderPolicy.Load()
        for viewer in viewers.all where viewer.isReceiving {
            viewer.noteCongestion(now: now)
            if viewer.takeKeyframeAfterCutOff(now: now) {
                source.requestKeyframe(viewer.frames.encodingSelector.target, isFirst: false)
            }
            viewer.contribute(to: &load, now: now)
        }
        // The bitrate follows the viewers, if there are any.
        if load.main.isEmpty, hasDemandingReceiver { load.main.add(rate: nil, isWaiting: false, congestedSince: nil) }
        if let recheck = load.recheck(now: now) { congestionTimer?.set(recheck) }
        if let decision = policy.decide(load, now: now) { source.apply(decision) }
        let hasCutOff = cutOffStuck(load, now)
        if policy.selectionIsDue(viewers: viewers.count, hasCutOff: hasCutOff, now: now) {
            selectEncodings(fastest: load.fastest, now)
        }
    }

    /// Cuts off each viewer whose backlog has blocked base layer frames for over 1 s while another viewer has no
    /// backlog.
    private func cutOffStuck(_ load: EncoderPolicy.Load, _ now: MediaInstant) -> Bool {
        var hasCutOff = false
        for viewer in viewers.all where viewer.isReceiving && load.isDivided(viewer.frames.encodingSelector.encoding) {
            hasCutOff = viewer.cutOffIfStuck(now: now) || hasCutOff
        }
        return hasCutOff
    }

    /// Assigns viewers to encodings. A viewer changes when a key frame of the other encoding arrives.
    private func selectEncodings(fastest: Bitrate, _ now: MediaInstant) {
        let mainBitrate = policy.mainBitrate(now: now)
        var hasMoves = false
        for viewer in viewers.all where viewer.isReceiving {
            guard viewer.updatePlan(fastest: fastest, mainBitrate: mainBitrate, now: now) else { continue }
            hasMoves = true
            source.requestKeyframe(viewer.frames.encodingSelector.target, isFirst: false)
        }
        // The target encoding may not be active yet.
        if hasMoves { updateEncoders() }
    }

    /// Runs after each frame.
    func updateReferences(_ now: MediaInstant) {
        guard forwarding == nil else { return }
        updateReferences(of: .main, &lastReferences.main, now)
        updateReferences(of: .low, &lastReferences.low, now)
    }

    private func updateReferences(
        of encoding: EncodingID, _ last: inout LongTermReferencePolicy?, _ now: MediaInstant
    ) {
        let references = viewers.referencePolicy(of: encoding, now: now)
        guard last != references else { return }
        last = references
        source.setReferences(references, of: encoding)
    }
}
