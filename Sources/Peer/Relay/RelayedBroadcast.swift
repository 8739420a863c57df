import EventLoop
import HTTP
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import Service
import SessionDescription
import Signaling
import Synchronization
import Viewer

/// One broadcast of a relay: takes in what the publisher's session receives, and serves it to viewers without decoding
/// it.
///
/// It is the sink of the publisher's session and the source of a ``Broadcast`` on the same network loop.
/// - Isolation: as for `EncodedMediaSink` and `EncodedMediaSource`.
final class RelayedBroadcast: ForwardingSink, EncodedMediaSource {
    /// The settings and resources that all broadcasts of a relay share.
    struct Environment: Sendable {
        var configuration: RelaySession.Configuration
        var session: ServiceSession
        var identity: Identity
        /// The ICE agents of the viewers of all broadcasts.
        var agents: LoopBound<ICEAgentPool>
        /// Of the viewers of all broadcasts.
        var places: LoopBound<ViewerPlaces>
        var fanOut: LoopBound<FanOut>
        var decide: HostSession.KnockPolicy
    }

    struct Served: Sendable {
        var core: LoopBound<Broadcast>
        var signaling: BroadcastSignaling
        var handle: BroadcastResource
        var keyframeRequests: LoopBound<KeyframeRequestAggregator>
        var bandwidth: LoopBound<AudienceBandwidth>
    }

    struct Media: Sendable {
        /// Nil without video.
        var codec: VideoCodec?
        var packets: LoopBound<ForwardedMedia>
    }

    struct State {
        var requestKeyframe: (@Sendable (KeyframeRequest) -> Void)?
        var limitBitrate: (@Sendable (Bitrate?) -> Void)?
        var receivedBytes: (@Sendable () -> Int)?
        var clock = RelayClock()
        var media: Media?
        /// The viewers are about to get packets.
        var isForwarding = false
        var served: Served?
        var link: Link?
        /// The publisher's hold that is in effect.
        var hold: BroadcastHold?
        /// The connection to the publisher, or to the relay that it is fetched from, is not interrupted.
        var isActive = true
        /// Of relays that fetch it here.
        var reports = SlowestBitrateReports()
        /// Before that, the viewers here are not named again to another relay.
        var nextNaming: MediaInstant?
        var isClosed = false
    }

    // The queues stay empty, as the media is forwarded.
    let frames = FrameQueues()
    let packets = FrameQueue<AudioPacketInfo>(capacity: 1, bytes: 0)
    let configuration: ServedBroadcastConfiguration
    let streams: RelayStreams
    /// The publisher and the other relays learn how many watch.
    let audience: Throttle<Int>
    let state = Mutex(State())
    /// Of those whom the publisher has sent to the cluster, if it is published here.
    let viewerRelays: StateMachineRunner<ViewerRelays>
    /// The number of the session that has the broadcast.
    private let feed = Atomic(0)

    /// Of tracks in `RelayClock`; audio tracks follow.
    static let videoTrack = -1

    /// - Parameter configuration: with the name that viewers see.
    init(_ configuration: ServedBroadcastConfiguration, _ streams: RelayStreams) {
        self.configuration = configuration
        self.streams = streams
        let environment = streams.environment
        viewerRelays = StateMachineRunner(
            ViewerRelays(
                graceTime: environment.configuration.streams.viewerGraceTime,
                maximumViewers: environment.configuration.maximumViewers), on: environment.session.loop)
        audience = Throttle { [weak streams, id = configuration.id] in streams?.report(viewers: $0, of: id) }
    }

    private var environment: Environment { streams.environment }

    /// Gives the broadcast to another session.
    /// - Returns: the number of that session.
    func changeFeed() -> Int { feed.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue }

    /// Whether a session still has the broadcast.
    func isFed(by number: Int) -> Bool { feed.load(ordering: .acquiring) == number }

    /// The viewers' link; nil before media was negotiated.
    var link: Link? { state.withLock { $0.link } }

    /// Where it can be watched; nil before media was negotiated.
    var served: (Link, VideoCodec?)? { state.withLock { state in state.link.map { ($0, state.media?.codec) } } }

    /// Tells all viewers. Lost before media was negotiated.
    func send(_ event: HostEvent) { state.withLock { $0.served }?.signaling.send(event) }

    /// Tells all viewers where they can go on.
    func send(alternates links: [String]) {
        guard let link else { return }
        send(.alternates(SignedAlternates(links, of: link.id, signedBy: environment.identity)))
    }

    /// Tells the viewers, also those who come later, that the publisher holds the broadcast back, or goes on
    /// with it (nil).
    func tell(hold: BroadcastHold?) {
        state.withLock { state in
            guard state.hold != hold else { return }
            state.hold = hold
            // In the order of the changes.
            state.served?.signaling.send(HostEvent(hold: hold))
        }
    }

    /// Tells the viewers that the connection to the publisher is interrupted, or that it is there again.
    func setActive(_ isActive: Bool) {
        state.withLock { state in
            guard state.isActive != isActive else { return }
            state.isActive = isActive
            state.served?.signaling.send(isActive ? .active : .inactive)
        }
    }

    /// A relay that fetches the broadcast here tells what its slowest viewer can get; nil: as much as its others.
    func note(slowest: Bitrate?, at relay: String) {
        state.withLock { $0.reports.note(slowest, from: relay, now: MonotonicClock.now) }
    }

    /// Forgets what relays have told that do not fetch the broadcast here any more.
    func keepReports(of relays: Set<String>) { state.withLock { $0.reports.keep(relays) } }

    /// The bitrate of the relays that fetch it here, the bytes from the publisher, and how these are limited.
    func bandwidthInput(
        now: MediaInstant
    ) -> (behind: [Bitrate], received: (@Sendable () -> Int)?, limit: (@Sendable (Bitrate?) -> Void)?) {
        state.withLock { ($0.reports.bitrates(now: now), $0.receivedBytes, $0.limitBitrate) }
    }

    var id: BroadcastID { configuration.id }

    var secret: [UInt8] { configuration.secret }

    /// Of the viewers' passes for other relays; nil: there are none.
    var passKey: [UInt8]? { configuration.passKey }

    /// For people.
    var displayName: String { configuration.name ?? "" }

    /// The codec (nil without video), and what was sent to the viewers; nil before media was negotiated.
    func traffic() async -> (id: BroadcastID, codec: VideoCodec?, BroadcastTraffic)? {
        let (served, codec) = state.withLock { ($0.served, $0.media?.codec) }
        guard let served, let traffic = await served.core.ifRunning({ $0.traffic }) else { return nil }
        return (served.handle.id, codec, traffic)
    }

    // MARK: The publisher's session

    func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        // A session that begins paused says so.
        tell(hold: nil)
        let isFirst = state.withLock { state in
            state.requestKeyframe = requestKeyframe
            state.clock = RelayClock()
            return state.served == nil && !state.isClosed
        }
        guard isFirst else {
            let codec = state.withLock { $0.media?.codec }
            guard codec == format.video else {
                let (old, new) = (codec?.rawValue ?? "audio alone", format.video?.rawValue ?? "audio alone")
                throw MediaSinkFailure("the publisher has changed from \(old) to \(new)")
            }
            return
        }
        let loop = environment.session.loop
        let media = makeMedia(format, loop)
        state.withLock { $0.media = media }
        guard let broadcast = makeBroadcast(format) else { return }
        let core = LoopBound(loop, broadcast)
        let (streams, id) = (streams, id)
        let emit: @Sendable (BroadcastEvent) -> Void = { streams.handle($0, of: id) }
        let knocks = KnockHandler(decideKnock: { await streams.decide($0, about: id) }, emit: emit)
        let signaling = BroadcastSignaling(core: core, knocks: knocks, onEvent: emit) {
            streams.note($0, isHere: $1, of: id)
        }
        do throws(SignalingServerError) {
            var configuration = configuration
            configuration.videoCodec = format.video
            let (handle, port) = try environment.session.serve(configuration, delegate: signaling)
            signaling.begin(handle)
            let link = Link(
                host: environment.configuration.service.linkHost, port: port, id: handle.id, secret: handle.secret,
                fingerprint: environment.identity.fingerprint, flags: environment.configuration.service.linkFlags)
            // Others go on watching until it comes.
            let keyframeRequests = KeyframeRequestAggregator(loop) { [weak self] in
                self?.state.withLock { $0.requestKeyframe }?(.wanted)
            }
            let bandwidth = AudienceBandwidth(loop, maximum: environment.configuration.maximumBitrate, core, of: self)
            state.withLock { state in
                state.served = Served(
                    core: core, signaling: signaling, handle: handle,
                    keyframeRequests: LoopBound(loop, keyframeRequests), bandwidth: LoopBound(loop, bandwidth))
                state.link = link
            }
        } catch {
            broadcast.end {}
            throw MediaSinkFailure("the relay takes no further broadcast")
        }
    }

    func begin(
        limitBitrate: @escaping @Sendable (Bitrate?) -> Void, receivedBytes: @escaping @Sendable () -> Int
    ) {
        state.withLock { state in
            guard !state.isClosed else { return }
            (state.limitBitrate, state.receivedBytes) = (limitBitrate, receivedBytes)
        }
    }

    /// Makes the viewers' side.
    private func makeBroadcast(_ format: EncodedMediaFormat) -> Broadcast? {
        var broadcast: Broadcast?
        environment.agents.assumeIsolated {
            broadcast = Broadcast(
                loop: environment.session.loop, settings: settings(format), source: self, agents: $0,
                places: environment.places.assumeIsolated { $0 })
            broadcast?.servers = environment.session.iceServers
        }
        return broadcast
    }

    /// Makes what is forwarded.
    private func makeMedia(_ format: EncodedMediaFormat, _ loop: EventLoop) -> Media {
        let onPackets: () -> Void = { [weak self] in self?.forward() }
        let video = format.video.map { ForwardedVideo($0) }
        let audio = zip(format.audio, Self.audioKinds).map { _ in ForwardedAudio() }
        video?.onPackets = onPackets
        for track in audio { track.onPackets = onPackets }
        return Media(
            codec: format.video, packets: LoopBound(loop, ForwardedMedia(video: video, audio: audio)))
    }

    /// Of tracks of which the publisher says nothing. Further tracks are ignored.
    private static let audioKinds: [MediaTrackKind] = [.applicationAudio, .microphoneAudio]

    private func settings(_ format: EncodedMediaFormat) -> Broadcast.Settings {
        let audio = zip(format.audio, Self.audioKinds).map { known, usual in
            Broadcast.AudioTrack(kind: known ?? usual, hasSilenceSuppression: false)
        }
        var result = Broadcast.Settings(
            identity: environment.identity, maximumBitrate: environment.configuration.maximumBitrate, audio: audio,
            viewers: ViewerPolicy(maximum: environment.configuration.maximumViewers))
        result.name = configuration.name
        result.tellsWhoLeaves = configuration.isEncryptedByHost
        result.viewers.bitrateLimit = environment.configuration.viewerLimit
        result.socket = environment.session.socket
        result.fanOut = environment.fanOut
        result.capabilities = .forwarding(format.video, formatParameters: format.videoParameters)
        return result
    }

    // MARK: Media

    func close(_ done: @escaping @Sendable () -> Void) {
        _ = changeFeed()
        viewerRelays.close()
        let served = state.withLock { state in
            state.isClosed = true
            state.requestKeyframe = nil
            (state.limitBitrate, state.receivedBytes) = (nil, nil)
            defer { state.served = nil }
            return state.served
        }
        guard let served else { return done() }
        served.keyframeRequests.perform { $0.close() }
        served.bandwidth.perform { $0.close() }
        let reason = streams.stopReason ?? "the publisher has left the relay"
        Task {
            await served.signaling.end(reason: reason)
            await served.core.performAndWait { $0.end($1) }
            await served.handle.remove(reason: reason)
            done()
        }
    }

    // MARK: The viewers' requests

    /// The publisher follows its own line and the fastest viewer's; viewers with less get fewer layers or wait for a
    /// key frame.
    func apply(_ decision: EncoderPolicy.Decision) {}

    func setReferences(_ policy: LongTermReferencePolicy, of encoding: EncodingID) {}

    func requestRecovery(_ encoding: EncodingID, from number: UInt32) { requestKeyframe(encoding, isFirst: false) }

    func requestKeyframe(_ encoding: EncodingID, isFirst: Bool) {
        state.withLock { $0.media?.codec == nil ? nil : $0.served }?.keyframeRequests.assumeIsolated { $0.request() }
    }
}
