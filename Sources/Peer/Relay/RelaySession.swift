public import Admission
import EventLoop
public import HTTP
public import Host
import ICETransport
public import Identifiers
public import Identity
import LinuxRuntime
public import MediaCore
public import PeerConnection
public import Service
public import Signaling
import Viewer

/// Events of a ``RelaySession``.
public enum RelayEvent: Sendable {
    /// Of the service that publishers pair with.
    case service(ServiceSessionEvent)
    /// A broadcast can be watched; the publisher knows the link as well.
    case live(SessionID, Publisher, Link)
    /// Of the viewers of a broadcast.
    case broadcast(SessionID, BroadcastEvent)
    /// Of the other relays of the cluster.
    case cluster(ClusterEvent)
}

/// A relay: takes broadcasts in by WHIP, after a pairing or with the token of WHIP tools, and serves each to viewers
/// under a link of its own, without decoding it. All of them have one HTTPS port, and one UDP port for media. With a
/// ``ClusterSettings``, it serves the broadcasts of other relays, too.
///
/// Call `start` once. `stop` frees everything and may be called twice.
public final class RelaySession: Sendable {
    public struct Configuration: Sendable {
        public var service: ServiceSession.Configuration
        /// The UDP port for the media of all peers.
        public var media = MediaPort()
        /// How broadcasts that can be watched here are listed; nil: not at all.
        public var directory: DirectorySettings? = DirectorySettings()
        /// Of one broadcast.
        public var maximumViewers = 64
        /// Of all broadcasts; nil: the limits of HTTPS connections, which follow `maximumViewers`, are the only ones.
        public var maximumTotalViewers: Int?
        /// To one viewer.
        public var maximumBitrate = Bitrate.kilobits(20_000)
        /// Threads that send to viewers at a time.
        public var sendingThreads = 1
        var sharing = FanOut.Sharing()
        /// As that of a host.
        var viewerLimit: (@Sendable (ViewerDescription) -> Bitrate?)?
        /// Nil: there are no other relays.
        public var cluster: ClusterSettings?

        /// - Parameter service: names the media port as STUN server unless it names another one.
        public init(service: ServiceSession.Configuration) {
            self.service = service
            self.service.videoCodecs = Set(VideoCodec.allCases)
            self.service.forwardsPackets = true
        }
    }

    private let configuration: Configuration
    private let identity: Identity
    /// Of each broadcast, without its identifier and secret.
    private let viewers: BroadcastConfiguration
    let session: ServiceSession
    private let directory: RelayDirectory
    private let questions: ViewerQuestions
    private let published: PublishedBroadcasts
    private let emit: @Sendable (RelayEvent) -> Void

    /// - Parameters:
    ///   - decide: answers publishers that want to pair; called for several at a time.
    ///   - admit: answers viewers that knock.
    ///   - emit: called from any thread.
    public init(
        configuration: Configuration, identity: Identity,
        decide: @escaping @Sendable (PairingRequest) async -> PairingDecision,
        admit: @escaping HostSession.KnockPolicy, emit: @escaping @Sendable (RelayEvent) -> Void
    ) {
        self.configuration = configuration
        self.emit = emit
        var viewers = BroadcastConfiguration()
        viewers.serve(viewers: configuration.maximumViewers)
        viewers.iceServers = configuration.service.service.iceServers
        viewers.turnSecret = configuration.service.service.turnSecret
        self.viewers = viewers
        self.identity = identity
        let published = PublishedBroadcasts(viewers, hasCluster: configuration.cluster != nil, emit: emit)
        self.published = published
        session = ServiceSession(
            configuration: configuration.service, identity: identity,
            decide: { request in
                if published.isDraining.with({ $0 }) { return .busy }
                // Another relay has been asked.
                if published.cluster.member?.isPublisher(request.fingerprint) == true { return .accepted }
                return await decide(request)
            },
            makeSink: { published.add($0, $1) },
            emit: { event in
                switch event {
                case .closed(let id, _, _): published.closed(id)
                case .interrupted(let id): published.broadcast(of: id)?.setActive(false)
                case .resumed(let id): published.broadcast(of: id)?.setActive(true)
                default: break
                }
                emit(.service(event))
                if case .connected(let id, _) = event { published.connected(id) }
            })
        let loop = session.loop
        loop.perform { loop.moderate(Self.moderation) }
        directory = RelayDirectory(
            session, linkHost: configuration.service.linkHost, fingerprint: identity.fingerprint)
        questions = ViewerQuestions(session)
        let descriptors = DescriptorPlan.ofThisProcess
        let shared = RelayedBroadcast.Environment(
            session: session, directory: directory, questions: questions, identity: identity,
            linkHost: configuration.service.linkHost,
            linkFlags: configuration.service.linkFlags,
            maximumViewers: configuration.maximumViewers, maximumBitrate: configuration.maximumBitrate,
            agents: LoopBound(
                session.loop,
                making: {
                    ICEAgentPool(
                        .init(agents: .max, descriptors: descriptors.agents, reserve: descriptors.reserve / 2))
                }),
            places: LoopBound(session.loop, making: { ViewerPlaces(configuration.maximumTotalViewers ?? .max) }),
            fanOut: LoopBound(
                session.loop, making: { FanOut(threads: configuration.sendingThreads, sharing: configuration.sharing) }),
            decide: admit, viewerLimit: configuration.viewerLimit)
        published.environment.with { $0 = shared }
    }

    /// Thousands of viewers send feedback all the time, and each wake-up of the loop costs as much as reading it.
    private static let moderation = MediaDuration.microseconds(500)

    /// Opens the media port and the server.
    /// - Returns: the link for publishers, with the secret of the configuration.
    public func start() async throws(EndReason) -> ServiceLink {
        let socket = try await configuration.media.open(on: session.loop)
        let port = await socket.ifRunning { $0.port }
        let role = RelayRole(
            delegate: RelayDelegate(session, published, directory, questions) { [emit] in emit(.service($0)) },
            finder: configuration.cluster == nil ? nil : published.cluster, directory: configuration.directory,
            viewers: configuration.maximumTotalViewers ?? configuration.maximumViewers, socket: socket,
            mediaServer: port.flatMap { configuration.media.server(port: $0, host: configuration.service.linkHost) })
        let link = try await session.start(as: role)
        if let settings = configuration.cluster { join(settings, link) }
        return link
    }

    private func join(_ settings: ClusterSettings, _ link: ServiceLink) {
        let own = ClusterNode(
            name: settings.node, host: link.host, port: link.port, fingerprint: identity.fingerprint,
            isWebPKI: configuration.service.linkFlags.contains(.webPKI), region: session.directory?.region,
            linkSecret: link.secret)
        let (session, published) = (session, published)
        let member = ClusterMember(
            own, bus: settings.bus, directory: session.directory,
            handlers: .init(
                decide: { await published.ask($1, about: $0) },
                noteSlowest: { published.note(slowest: $0, of: $1, at: $2) },
                emit: { [weak self] in self?.report($0) }))
        let broadcasts = ClusterBroadcasts(
            member, own: own, settings: viewers, identity: identity,
            capacity: configuration.service.service.sessionCapacity,
            resources: {
                .init(
                    loop: session.loop, localAddress: nil, socket: session.socket, isOneOfMany: false,
                    followsAlternates: false)
            },
            make: { published.make($0, $1) },
            published: { published.published($0) },
            emit: { [emit] in emit(.cluster($0)) })
        published.cluster.begin(member, broadcasts)
        member.start()
    }

    private func report(_ event: ClusterMember.Event) {
        switch event {
        case .joined(let node):
            published.tellAlternates()
            emit(.cluster(.joined(node)))
        case .left(let node):
            published.cluster.broadcasts?.relayHasGone(node)
            published.tellAlternates()
            emit(.cluster(.left(node)))
        case .changed: published.tellAlternates()
        case .nameIsTaken: emit(.cluster(.nameIsTaken))
        case .broadcastChanged(let id): if let id = BroadcastID(id) { published.noteChange(of: id) }
        }
    }

    /// The connection to the others of the cluster was made: they are told of this relay at once.
    public func clusterIsConnected() { published.cluster.member?.tick() }

    /// Presents this certificate to connections that come from now on. There was another one at the start.
    public func present(_ certificate: ServerCertificate) { session.present(certificate) }

    /// Takes no further publisher and no further viewer from now on. What runs goes on, or moves to another relay of the
    /// cluster.
    public func drain() {
        published.isDraining.change { $0 = true }
        session.refuseBroadcasts()
        published.cluster.member?.drain()
        published.cluster.broadcasts?.drain()
        _ = published.moveAll()
    }

    /// Whether publishers and viewers are taken.
    public var isReady: Bool { !published.isDraining.with { $0 } }

    /// Whether no broadcast runs.
    public var isIdle: Bool {
        published.isEmpty && !directory.hasTunnels && published.cluster.broadcasts?.isIdle != false
    }

    public func statistics() async -> RelayStatistics {
        var result = RelayStatistics()
        result.isDraining = !isReady
        result.signaling = session.signalingStatistics
        if let counters = await session.socket?.ifRunning({ $0.counters }) {
            result.mediaPort = RelayStatistics.MediaPort(
                datagrams: counters.datagrams, refusedRequests: counters.refusedRequests,
                strangers: counters.strangers, bindingResponses: counters.bindingResponses)
        }
        result.tunnels = directory.tunnelCount
        let member = published.cluster.member
        for (id, broadcast) in published.all {
            let received = await session.statistics(of: id)
            await result.add(broadcast, received, relays: member?.copies(of: broadcast.id) ?? 0)
        }
        let copies = await published.cluster.broadcasts?.statistics() ?? []
        for (broadcast, received) in copies {
            await result.add(broadcast, received, relays: member?.copies(of: broadcast.id) ?? 0)
        }
        result.cluster = member.map { .init(relays: $0.relayCount, fetched: copies.count) }
        return result
    }

    /// How long a relay that stops waits until all have moved to others.
    private static let movingTime = Duration.seconds(2)

    /// Ends all broadcasts and frees everything.
    public func stop(reason: String = "the relay has stopped") async {
        let cluster = published.cluster
        if isReady, !isIdle {
            // Without a drain, publishers and viewers get a moment to move.
            drain()
            let deadline = ContinuousClock.now + Self.movingTime
            while cluster.member?.others.isEmpty == false, !isIdle, ContinuousClock.now < deadline {
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
        // Viewers learn that it is the relay which ends, not the host.
        published.environment.with { $0 }?.stopReason.with { $0 = reason }
        cluster.member?.stop()
        await cluster.broadcasts?.stop()
        cluster.end()
        let fanOut = published.environment.with { $0?.fanOut }
        // What is left is sent by the loop's thread.
        await fanOut?.performAndWait { fanOut, done in
            fanOut.stop()
            done()
        }
        await session.stop(reason: reason)
        published.environment.with { $0 = nil }
    }
}
