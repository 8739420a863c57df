public import Admission
import EventLoop
public import ICEServers
import ICETransport
import LinuxRuntime
import Logging
public import MediaCore
import MediaEngine
public import Publishing
import Receiving
import SessionDescription
public import Signaling
public import Transport

/// Publishes a screen: the signalling server, the video and audio threads and a connection for each viewer.
///
/// `start` once, then events come until `.ended`; `stop` frees everything and may be called twice.
public final class HostSession: SignalingServerDelegate {
    public struct Configuration: Sendable {
        /// Where to listen, and the name or address that the link says.
        public var listenHost: String
        public var listenPort: Int
        public var linkHost: String
        public var fixedToken: String?
        public var framesPerSecond: Int
        public var maximumBitrate: Bitrate
        /// nil: chosen by what the screen does.
        public var contentHint: ContentHint?
        public var maximumViewers: Int
        /// What viewers see; nil for no name.
        public var name: String?
        /// What one viewer may have at most, if that is less than `maximumBitrate`.
        var viewerLimit: (@Sendable (ViewerDescription) -> Bitrate?)?
        /// STUN and TURN servers, for this host and for its viewers, who are told the credentials too.
        public var iceServers: [ICEServer] = []
        /// Asks the router to forward ports.
        public var usesUPnP = false
        /// Sends through TURN servers alone, so that viewers do not learn an address of this machine.
        public var usesOnlyRelays = false

        /// A numeric address to listen at holds for media too. Not one of loopback: Firefox and GStreamer never use loopback for
        /// media, so a viewer that came that way is offered this machine's other addresses as well.
        var mediaAddresses: [String]? {
            guard let address = IPAddress(listenHost), address.isUnicast, !address.isLoopback else { return nil }
            return [listenHost]
        }

        public init(
            listenHost: String, listenPort: Int, linkHost: String, fixedToken: String?, framesPerSecond: Int,
            maximumBitrate: Bitrate, contentHint: ContentHint?, maximumViewers: Int = 32, name: String? = nil
        ) {
            self.listenHost = listenHost
            self.listenPort = listenPort
            self.linkHost = linkHost
            self.fixedToken = fixedToken
            self.framesPerSecond = framesPerSecond
            self.maximumBitrate = maximumBitrate
            self.contentHint = contentHint
            self.maximumViewers = maximumViewers
            self.name = name
        }
    }

    public typealias KnockHandler = @Sendable (Knock) async -> KnockDecision

    /// How long a refusal holds.
    private static let refusalSeconds = 60

    private let configuration: Configuration
    private let identity: Identity
    private let loop: EventLoop
    private let core: LoopBound<Broadcast>
    private let pipelines: MediaPipelines
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let door: KnockHandler
    private let server = Monitor<SignalingServer?>(nil)
    /// The broadcast as the server has it.
    private let served = Monitor<BroadcastHandle?>(nil)
    private let isStopped = Monitor(false)
    /// Who waits for an answer.
    private let knocking = Monitor<[KnockID: ViewerDescription]>([:])
    private let bells: LoopBound<QueueWakeups>
    private let servers: ICEServerResolver
    private let descriptors: DescriptorPlan
    /// When they were last asked whether they do what they are there for.
    private let serversAsked = Monitor<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - source: used by the session's video thread from now on.
    ///   - door: answers knocks; called for several at a time.
    ///   - emit: called from any thread.
    public init(
        configuration: Configuration, identity: Identity, source: sending any ScreenSource,
        encoder: sending any VideoEncoder, audio inputs: [AudioInput], door: @escaping KnockHandler,
        emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) throws(CodecFailure) {
        self.configuration = configuration
        self.identity = identity
        self.door = door
        self.emit = emit
        servers = ICEServerResolver(configuration.iceServers)
        let descriptors = DescriptorPlan.ofThisProcess
        self.descriptors = descriptors
        let loop = EventLoop(name: "net-0")
        self.loop = loop
        let frames = FrameQueues()
        let packets = FrameQueue<AudioPipeline.Info>(capacity: 32, bytes: 2_048)
        let settings = Broadcast.Settings(
            identity: .init(certificateDER: identity.certificateDER, privateKeyDER: identity.privateKeyDER),
            fingerprint: identity.fingerprint, maximumBitrate: configuration.maximumBitrate,
            audio: inputs.map { .init(kind: $0.kind, hasSilenceSuppression: $0.hasSilenceSuppression) },
            maximumViewers: configuration.maximumViewers,
            // In use, of a restart, and of one that is closing.
            agents: .init(
                agents: configuration.maximumViewers * 3, descriptors: descriptors.agents,
                reserve: descriptors.reserve / 2),
            localAddresses: configuration.mediaAddresses,
            includesLoopback: configuration.mediaAddresses == nil, usesUPnP: configuration.usesUPnP,
            usesOnlyRelays: configuration.usesOnlyRelays, name: configuration.name,
            viewerLimit: configuration.viewerLimit)
        pipelines = MediaPipelines(
            frames: frames, packets: packets,
            video: VideoPipeline(
                source: source, encoder: encoder,
                limits: .init(framesPerSecond: configuration.framesPerSecond, contentHint: configuration.contentHint),
                bitrate: configuration.maximumBitrate, frames: frames, clock: { MonotonicClock.now }),
            audio: try inputs.enumerated().map { (track, input) throws(CodecFailure) in
                AudioPipeline(
                    track: track, kind: input.kind, source: input.source, encoder: try input.makeEncoder(),
                    packets: packets)
            })
        let pipelines = pipelines
        let core = LoopBound(
            loop, making: { Broadcast(loop: loop, settings: settings, pipelines: pipelines) })
        self.core = core
        bells = LoopBound(
            loop,
            making: {
                QueueWakeups(
                    video: loop.makeWakeup { core.now { $0.framesArrived() } },
                    audio: loop.makeWakeup { core.now { $0.packetsArrived() } })
            })
        core.perform { [weak self] in $0.delegate = self }
    }

    /// Opens the server and starts capturing.
    public func start() async throws(EndReason) -> Link {
        let configuration = configuration
        var settings = SignalingServer.Configuration(host: configuration.listenHost, port: configuration.listenPort)
        settings.broadcastCapacity = 1
        settings.limit(connections: descriptors.connections)
        var broadcast = BroadcastConfiguration(fixedToken: configuration.fixedToken)
        // Of the viewers, the broadcast takes no more than its limit; sessions that nobody misses yet do not keep out who comes again.
        broadcast.sessionCapacity = configuration.maximumViewers * 2
        broadcast.iceServers = servers.servers
        broadcast.refusalTimeout = .seconds(Self.refusalSeconds)
        if descriptors.connections < 128 {
            emit(
                .warning(
                    "this process may open \(FileDescriptors.limit) files only, which limits viewers and connections: "
                        + "raise the hard limit (ulimit -Hn)"))
        }
        if ICEAgent.localInterfaceAddresses().isEmpty {
            emit(
                .warning(
                    "this machine has no address but loopback, which Firefox and GStreamer do not use for media: "
                        + "watch with share join or Chromium"))
        }
        await findServers()
        let server = SignalingServer(identity: identity, configuration: settings, logger: .silent)
        let served: BroadcastHandle
        let port: Int
        do throws(SignalingServerError) {
            served = try server.add(broadcast, delegate: self)
            port = try await server.start()
        } catch {
            throw EndReason(.portUnavailable, error.description)
        }
        self.server.with { $0 = server }
        self.served.with { $0 = served }
        startPipelines()
        return Link(
            host: configuration.linkHost, port: port, id: served.id, secret: served.secret,
            fingerprint: identity.fingerprint)
    }

    private func startPipelines() {
        let (video, audio) = bells.read { ($0.video, $0.audio) }
        pipelines.video.start(framesReady: { video.signal() }) { [weak self] failure in
            // On a task of its own: stopping waits for the video thread, which is where failures come from.
            Task { await self?.stop(EndReason(.sourceGone, failure.message, remedy: failure.remedy)) }
        }
        for track in pipelines.audio {
            let name = track.name
            do throws(SourceFailure) {
                try track.start(packetsReady: { audio.signal() }) { [emit] failure in
                    emit(.warning("the \(name) has gone: \(failure.message)"))
                }
                emit(.sharing(name + ": " + track.summary))
            } catch {
                emit(.warning("without \(name). \(error.message) \(error.remedy)"))
            }
        }
    }

    /// Looks the names of STUN and TURN servers up.
    private func findServers() async {
        guard !servers.servers.isEmpty else { return }
        let addresses = await servers.addresses()
        for complaint in addresses.complaints { emit(.warning(complaint)) }
        core.perform { $0.servers = addresses }
        // The owner hears now of a server that will not help later. Nobody waits for that.
        askServers()
    }

    /// Warns of servers that do not do what they are there for; when called again within 10 s, does nothing.
    private func askServers() {
        let now = ContinuousClock.now
        let isDue = serversAsked.with { last in
            if let last, now - last < .seconds(10) { return false }
            last = now
            return true
        }
        guard isDue, !servers.servers.isEmpty else { return }
        Task { [servers, emit, isStopped] in
            for (url, finding) in await servers.findings() where !finding.isGood && !isStopped.with({ $0 }) {
                emit(.warning("\(url) \(finding.words): \(finding.remedy)"))
            }
        }
    }

    /// A server that has died since is one reason why nothing comes from a viewer.
    private func look(at event: BroadcastEvent) {
        switch event {
        case .interrupted: askServers()
        case .viewerLeft(_, let reason, _) where reason.code == .connectionLost || reason.code == .noRoute: askServers()
        default: break
        }
    }

    /// Tells the viewers, frees everything, emits `.ended`.
    public func stop(_ reason: EndReason) async {
        guard
            isStopped.with({ stopped in
                defer { stopped = true }
                return !stopped
            })
        else { return }
        let server = server.with { $0 }
        let sentence = reason.code == .stopped ? "the host ended the broadcast" : reason.sentence
        await served.with { $0 }?.end(reason: sentence)
        // Sources wait for threads of their own.
        await NamedThread("ending") { [pipelines] in for track in pipelines.audio { track.stop() } }.ended()
        await pipelines.video.stop()
        await core.finish { $0.end($1) }
        await server?.stop()
        await servers.close()
        await bells.ifRunning { $0.close() }
        await loop.stop()
        emit(.ended(reason))
    }

    /// Nil after the end.
    public func statistics() async -> HostStatistics? {
        let video = pipelines.video.statistics
        return await core.ifRunning { $0.statistics(video: video) }
    }

    // MARK: SignalingServerDelegate

    public func decide(_ knock: Knock) async -> KnockDecision {
        let who = ViewerDescription(knock)
        knocking.with { $0[knock.id] = who }
        emit(.knock(who))
        let decision = await door(knock)
        switch decision {
        case .accepted: emit(.accepted(who, isRemembered: false))
        case .remembered: emit(.accepted(who, isRemembered: true))
        case .refused(let reason):
            emit(.refused(who, reason: "\(reason ?? "refused"); they can ask again in \(Self.refusalSeconds) s"))
        case .unanswered where Task.isCancelled: break
        case .unanswered: emit(.refused(who, reason: "nobody answered"))
        }
        knocking.with { $0[knock.id] = decision == .unanswered ? who : nil }
        return decision
    }

    public func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async {
        guard let who = knocking.with({ $0.removeValue(forKey: knock) }) else { return }
        switch reason {
        case .unanswered: emit(.refused(who, reason: "nobody answered"))
        case .left: emit(.refused(who, reason: "they left before they were answered"))
        case .replaced: emit(.refused(who, reason: "they asked again"))
        case .displaced: emit(.refused(who, reason: "too many ask, most of them from the same address"))
        case .ended: emit(.refused(who, reason: "the broadcast ended"))
        }
    }

    public func open(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession {
        let words = viewer.words?.description ?? ""
        let opened: OpenedSession = try await ask { broadcast, done in
            broadcast.open(offer: offer, viewer: viewer, words: words, answer: done)
        }
        if let served = served.with({ $0 }) {
            served.send(.viewerCount(await core.ifRunning { $0.viewerCount } ?? 0))
        }
        return opened
    }

    public func patch(_ fragment: String, _ session: SessionID) async throws(OfferRefusal) -> RestartedSession? {
        try await ask { broadcast, done in broadcast.patch(fragment, session, done: done) }
    }

    /// Runs a request on the network loop and waits for its answer.
    private func ask<Answer: Sendable>(
        _ request: @escaping @Sendable (Broadcast, @escaping @Sendable (Result<Answer, OfferRefusal>) -> Void) -> Void
    ) async throws(OfferRefusal) -> Answer {
        let result: Result<Answer, OfferRefusal> = await withCheckedContinuation { continuation in
            let isRunning = core.perform { broadcast in request(broadcast) { continuation.resume(returning: $0) } }
            if !isRunning {
                continuation.resume(returning: .failure(OfferRefusal(.notLive, "The broadcast has ended.")))
            }
        }
        return try result.get()
    }

    public func listening(_ isOpen: Bool, _ sessions: [SessionID]) async {
        await core.ifRunning { $0.listening(isOpen, sessions) }
    }

    public func close(_ session: SessionID) async { await core.ifRunning { $0.close(session) } }
}

extension HostSession: BroadcastDelegate {
    package func broadcast(emitted event: BroadcastEvent) {
        emit(event)
        look(at: event)
    }

    package func broadcast(foundCandidates fragment: String, of session: SessionID) {
        served.with { $0 }?.send(candidates: fragment, of: session)
    }

    package func broadcast(ended session: SessionID, viewers: Int) {
        let served = served.with { $0 }
        served?.forget(session)
        served?.send(.viewerCount(viewers))
    }
}

/// What the media threads ring.
private struct QueueWakeups {
    var video: LoopWakeup
    var audio: LoopWakeup

    func close() {
        video.close()
        audio.close()
    }
}

extension ViewerDescription {
    init(_ knock: Knock) {
        self.init(name: knock.name, kind: knock.kind, address: knock.address, words: knock.words.description)
    }
}

extension Logger {
    /// The server's own log says nothing that the events do not.
    static let silent = Logger(label: "share") { _ in SwiftLogNoOpLogHandler() }
}
