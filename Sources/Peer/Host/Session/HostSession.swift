public import Admission
import EventLoop
import HTTP
import ICETransport
public import Identifiers
public import Identity
import LinuxRuntime
public import MediaCore
import MediaEngine
public import PeerConnection
import SFrame
import SessionDescription
import Signaling
import Synchronization

/// Publishes a screen. Owns the signalling server, the video and audio threads, and one connection for each viewer.
///
/// Call `start` once; events follow until `.ended`. `stop` frees everything and may be called twice.
public final class HostSession: Sendable {
    public typealias KnockPolicy = @Sendable (Knock) async -> KnockDecision

    let configuration: Configuration
    let identity: Identity
    private let loop: EventLoop
    let core: LoopBound<Broadcast>
    let pipelines: MediaPipelines
    let emit: @Sendable (BroadcastEvent) -> Void
    let signaling: BroadcastSignaling
    let state = Monitor(HostSessionState())
    /// The application that is shown now, if its user lets others know.
    let shownApplication = Monitor<ApplicationInfo?>(nil)
    private let wakeups: LoopBound<MediaWakeups>
    let servers: ICEServerMonitor
    private let descriptors: DescriptorPlan

    /// - Parameters:
    ///   - source: used by the session's video thread from now on.
    ///   - decide: answers knocks; called for several at a time.
    ///   - emit: called from any thread.
    public init(
        configuration: Configuration, identity: Identity, source: sending any ScreenSource,
        encoder: sending any VideoEncoder, audio inputs: [AudioInput], decide: @escaping KnockPolicy,
        emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) throws(CodecFailure) {
        self.configuration = configuration
        self.identity = identity
        self.emit = emit
        let servers = ICEServerMonitor(configuration.ice.servers, granted: configuration.ice.grantedServers, emit: emit)
        self.servers = servers
        let descriptors = DescriptorPlan.ofThisProcess
        self.descriptors = descriptors
        let loop = EventLoop(name: "net-0")
        self.loop = loop
        let settings = configuration.broadcastSettings(
            identity, inputs.map { .init(kind: $0.kind, hasSilenceSuppression: $0.hasSilenceSuppression) }, descriptors)
        pipelines = try MediaPipelines(
            source: source, encoder: encoder, audio: inputs,
            limits: .init(framesPerSecond: configuration.framesPerSecond, contentHint: configuration.contentHint),
            bitrate: configuration.maximumBitrate)
        let pipelines = pipelines
        let core = LoopBound(
            loop, making: { Broadcast(loop: loop, settings: settings, source: pipelines) })
        self.core = core
        wakeups = LoopBound(of: core)
        // For the relay's directory.
        let viewersElsewhere = Monitor(RelayViewerCount())
        let audience = Throttle<Int> { [weak state] viewers in
            guard let tunnel = state?.with({ $0.tunnel }) else { return }
            Task { await tunnel.note(viewers: viewersElsewhere.with { $0.total(viewers) }) }
        }
        signaling = BroadcastSignaling(
            core: core, knocks: KnockHandler(decideKnock: decide, emit: emit), viewersElsewhere: viewersElsewhere,
            gate: configuration.tunnel != nil && configuration.handover.isRelayOnly ? AdmissionGate() : nil,
            messages: configuration.messagePolicy,
            showsViewers: configuration.viewers.areShown,
            handover: { [weak state] in state?.with { $0.handover } ?? nil }
        ) { event in
            emit(event.adding(viewersElsewhere.with { $0 }))
            if let viewers = event.viewers { audience.pass(viewers, interval: .seconds(2)) }
            servers.check(after: event)
        }
    }

    /// Opens the server and starts capturing.
    public func start() async throws(EndReason) -> Link {
        let configuration = configuration
        try checkLibraries()
        var settings = SignalingServer.Configuration(host: configuration.listenHost, port: configuration.listenPort)
        settings.furtherPorts = configuration.furtherPorts
        settings.broadcastCapacity = 1
        settings.limit(connections: descriptors.connections)
        // The relay would see the token, which is valid for every certificate.
        var broadcast = ServedBroadcastConfiguration(
            fixedToken: configuration.tunnel == nil ? configuration.fixedToken : nil)
        // The broadcast itself limits the number of viewers. The server's limit is twice as high, so that dead sessions
        // that nobody has noticed yet do not keep out viewers that join again.
        broadcast.name = configuration.name
        broadcast.isAnnounced = configuration.isAnnounced && configuration.tunnel == nil
        broadcast.videoCodec = .vp8
        broadcast.encryption = makeEncryption(of: broadcast.id)
        broadcast.sessionCapacity = configuration.viewers.maximum * 2
        if configuration.tunnel != nil, configuration.handover.publishes { broadcast.admitViewersOfRelay() }
        broadcast.iceServers = servers.servers
        broadcast.knockLimits.refusal = .seconds(KnockHandler.refusalSeconds)
        warnOfLimits()
        core.perform { [identity] in PeerConnection.initializeLibraries(for: identity, on: $0.loop) }
        if let addresses = await servers.lookUp() {
            core.perform { $0.servers = addresses }
            // The check runs in the background, so that the user learns early of a server that does not work.
            servers.check()
        }
        // Viewers come by the tunnel, if there is one.
        let usesSocket = configuration.tunnel == nil
        let server = SignalingServer(identity: identity, configuration: settings) { [emit] in
            if usesSocket { emit(.notice(.machine(.listeningFailed(.viewer)))) }
        }
        let served: BroadcastResource
        let port: Int
        do throws(SignalingServerError) {
            served = try server.add(broadcast, delegate: signaling)
            port = try await server.start()
        } catch {
            throw EndReason(.portUnavailable, error.description)
        }
        // If `stop` was called meanwhile, it found no server to stop.
        let isRunning = state.with { state in
            let isRunning = state.open(server)
            if isRunning { signaling.begin(served) }
            return isRunning
        }
        guard isRunning else {
            await server.stop()
            throw .hostStopped
        }
        if let paired = configuration.tunnel {
            let link = try await openTunnel(paired, served, server)
            startPipelines()
            return link
        }
        startPipelines()
        return Link(
            host: configuration.linkHost, port: port, id: served.id, secret: served.secret,
            fingerprint: identity.fingerprint)
    }

    /// How viewers at a relay get the broadcast. Its keys are made here, and are new for each run.
    private func makeEncryption(of broadcast: BroadcastID) -> ServedBroadcastConfiguration.Encryption {
        let run = randomBytes(FrameKeys.runLength)
        let isSealed =
            configuration.tunnel != nil && configuration.handover.publishes && configuration.handover.isSealed
        if isSealed {
            let encryption = BroadcastEncryption(secret: randomBytes(32), broadcast: broadcast.text, run: run)
            state.with { $0.encryption = encryption }
            core.perform { $0.encryption = encryption }
        }
        var settings = ServedBroadcastConfiguration.Encryption(run: run, isSealed: isSealed)
        settings.sealsMessages = configuration.tunnel != nil
        return settings
    }

    /// Lets viewers reach this host over a relay.
    private func openTunnel(
        _ relay: PairedService, _ broadcast: BroadcastResource, _ server: SignalingServer
    ) async throws(EndReason) -> Link {
        let link = Link(
            host: relay.link.host, port: relay.link.port, id: broadcast.id, secret: broadcast.secret,
            fingerprint: identity.fingerprint, relay: relay.link.fingerprint, flags: relay.link.flags)
        let handover = configuration.handover
        let tunnel = HostTunnels(
            to: relay, link: link, server: server,
            listing: { link in
                relay.title.map { title in
                    var listing = Listing(title: title, link: link)
                    listing.isRelayOnly = handover.isRelayOnly
                    listing.isEncrypted = handover.isEndToEnd
                    return listing
                }
            }, emit: emit,
            renewed: { [weak self] paired in
                guard let self else { return }
                // Whose servers are used follows the publication, if there is one elsewhere.
                if state.with({ $0.handover })?.use(paired) ?? true { keepServersValid(of: paired, isAnother: true) }
            })
        guard state.with({ $0.reach(over: tunnel) }) else {
            await tunnel.stop()
            throw .hostStopped
        }
        keepServersValid(of: relay)
        startHandover(to: relay, of: broadcast.id)
        do throws(SignalingError) {
            try await tunnel.start()
        } catch {
            throw EndReason(error, service: relay.name)
        }
        if case .tunnel(_, let handover?) = state.with({ $0.reachability }) { handover.noteTunnel() }
        return link
    }

    /// Gets the servers of a relay, or of a service, anew before their credentials expire, beside this host's own.
    /// - Parameter isAnother: this one has taken the place of the one whose servers are known.
    func keepServersValid(of paired: PairedService, isAnother: Bool = false) {
        let renewal = state.with { $0.renewal(makeRenewal) }
        renewal?.follow(paired.client, paired.grantedServers, usesThem: isAnother)
    }

    private func makeRenewal() -> ICEServerRenewal {
        ICEServerRenewal { [servers, signaling, core, own = configuration.ice.servers] granted in
            servers.use(own, granted: granted)
            signaling.use(servers.servers)
            let addresses = await servers.lookUp()
            // Those of another relay may be in use by now.
            guard !Task.isCancelled else { return }
            core.perform { $0.servers = addresses ?? .init() }
        }
    }

    private func checkLibraries() throws(EndReason) {
        guard let failure = LoadedICE.failure else { return }
        throw EndReason(.failed, "nobody can be connected: \(failure)", remedy: LoadedICE.remedy)
    }

    func warnOfLimits() {
        if descriptors.connections < 128 { emit(.notice(.machine(.fewDescriptors(limit: FileDescriptors.limit)))) }
        if ICEAgent.localInterfaceAddresses().isEmpty { emit(.notice(.machine(.loopbackOnly))) }
    }

    func startPipelines() {
        let (video, audio) = wakeups.read { ($0.video, $0.audio) }
        pipelines.start(framesReady: { video.signal() }, packetsReady: { audio.signal() }) { [weak self, emit] event in
            if case .videoEnded(let failure) = event {
                // A separate task is needed: stopping waits for the video thread, which reports this.
                Task { await self?.stop(EndReason(failure)) }
            } else if let event = BroadcastEvent(event) {
                emit(event)
            }
        }
    }

    /// Ends the broadcast for its viewers, frees everything, and emits `.ended`.
    public func stop(_ reason: EndReason) async {
        guard let (server, reachability, renewal) = state.with({ $0.stop() }) else { return }
        servers.stop()
        renewal?.stop()
        let sentence = reason.code == .stopped ? "the host ended the broadcast" : reason.sentence
        await signaling.end(reason: sentence)
        switch reachability {
        case .direct: break
        case .tunnel(let tunnel, let handover):
            await handover?.stop(reason)
            await tunnel.stop()
        case .publication(let publication): await publication.client.close(reason)
        }
        await pipelines.stop()
        await core.performAndWait { $0.end($1) }
        await closeSinks()
        await server?.stop()
        await servers.close()
        await wakeups.ifRunning { $0.close() }
        await loop.stop()
        emit(.ended(reason))
    }

    /// Nil after the end.
    public func statistics() async -> HostStatistics? {
        let video = pipelines.video.statistics
        var statistics = await core.ifRunning { $0.statistics(video: video) }
        statistics?.audio = audioTracks
        statistics?.link = state.with { $0.tunnel }?.otherLink?.text
        switch state.with({ $0.reachability }) {
        case .direct, .tunnel(_, nil): break
        case .publication(let publication):
            statistics?.viewers = publication.viewers ?? 0
            statistics?.destination = BroadcastReceiver(
                name: publication.client.name, countsViewers: publication.viewers != nil, publication.info)
        case .tunnel(_, let handover?):
            guard var audience = await core.ifRunning({ $0.audience }) else { break }
            audience.add(signaling.viewersElsewhere.with { $0 })
            statistics?.viewers = audience.viewers
            if handover.commonLink != nil {
                var receiver = BroadcastReceiver(name: handover.relay.name, countsViewers: true)
                receiver.isEncrypted = handover.isSealed ? true : nil
                statistics?.destination = receiver
            }
        }
        return statistics
    }
}
