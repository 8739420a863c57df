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
        package var streams = StreamPolicy()
        /// Nil: there are no other relays.
        public var cluster: ClusterSettings?

        /// - Parameter service: names the media port as STUN server unless it names another one.
        public init(service: ServiceSession.Configuration) {
            self.service = service
            self.service.videoCodecs = Set(VideoCodec.allCases)
            self.service.forwardsPackets = true
            self.service.service.description.isRelay = true
        }
    }

    private let configuration: Configuration
    private let identity: Identity
    let session: ServiceSession
    private let directory: RelayDirectory
    let streams: RelayStreams
    /// Emptied by `stop`, as the service and the streams refer to each other.
    private let reference: Monitor<RelayStreams?>

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
        self.identity = identity
        let reference = Monitor<RelayStreams?>(nil)
        self.reference = reference
        session = ServiceSession(
            configuration: configuration.service, identity: identity,
            decide: { request in
                guard let streams = reference.with({ $0 }), !streams.isDraining else { return .busy }
                // Another relay has been asked.
                if streams.member?.isPublisher(request.fingerprint) == true { return .accepted }
                return await decide(request)
            },
            makeSink: { id, publisher in reference.with { $0 }?.add(id, publisher) },
            emit: { event in reference.with { $0 }?.report(event) })
        let loop = session.loop
        loop.perform { loop.moderate(Self.moderation) }
        directory = RelayDirectory(
            session, linkHost: configuration.service.linkHost, fingerprint: identity.fingerprint)
        streams = RelayStreams(
            RelayedBroadcast.Environment(configuration, identity, session, decide: admit), directory, emit: emit)
        reference.with { $0 = streams }
    }

    /// Thousands of viewers send feedback all the time, and each wake-up of the loop costs as much as reading it.
    private static let moderation = MediaDuration.microseconds(500)

    /// Opens the media port and the server.
    /// - Returns: the link for publishers, with the secret of the configuration.
    public func start() async throws(EndReason) -> ServiceLink {
        let socket = try await configuration.media.open(on: session.loop)
        let port = await socket.ifRunning { $0.port }
        let role = RelayRole(
            delegate: streams,
            fetcher: configuration.cluster == nil ? nil : streams, directory: configuration.directory,
            viewers: configuration.maximumTotalViewers ?? configuration.maximumViewers, socket: socket,
            mediaServer: port.flatMap { configuration.media.server(port: $0, host: configuration.service.linkHost) })
        let link = try await session.start(as: role)
        if let cluster = configuration.cluster {
            let own = ClusterNode(
                name: cluster.node, host: link.host, port: link.port, fingerprint: identity.fingerprint,
                isWebPKI: configuration.service.linkFlags.contains(.webPKI), region: session.directory?.region,
                linkSecret: link.secret)
            streams.join(own, cluster.bus)
        }
        return link
    }

    /// The connection to the others of the cluster was made: they are told of this relay at once.
    public func clusterIsConnected() { streams.clusterIsConnected() }

    /// Presents this certificate to connections that come from now on. There was another one at the start.
    public func present(_ certificate: ServerCertificate) { session.present(certificate) }

    /// Takes no further publisher and no further viewer from now on. What runs goes on, or moves to another relay of
    /// the cluster.
    public func drain() { streams.drain() }

    /// Whether publishers and viewers are taken.
    public var isReady: Bool { !streams.isDraining }

    /// Whether no broadcast runs.
    public var isIdle: Bool { streams.isEmpty && !directory.hasTunnels }

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
        await streams.addStatistics(to: &result)
        return result
    }

    /// How long a relay that stops waits until all have moved to others.
    private static let movingTime = Duration.seconds(2)

    /// Ends all broadcasts and frees everything.
    public func stop(reason: String = "the relay has stopped") async {
        if isReady, !isIdle {
            // Without a drain, publishers and viewers get a moment to move.
            drain()
            let deadline = ContinuousClock.now + Self.movingTime
            while streams.member?.others.isEmpty == false, !isIdle, ContinuousClock.now < deadline {
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
        // Viewers learn that it is the relay which ends, not the host.
        await streams.stop(reason)
        // What is left is sent by the loop's thread.
        await streams.environment.fanOut.performAndWait { fanOut, done in
            fanOut.stop()
            done()
        }
        await session.stop(reason: reason)
        reference.with { $0 = nil }
    }
}

extension RelaySession.Configuration {
    /// Of each broadcast, without its identifier and secret.
    var viewers: ServedBroadcastConfiguration {
        var result = ServedBroadcastConfiguration()
        result.serve(viewers: maximumViewers)
        result.iceServers = service.service.iceServers
        result.turnSecret = service.service.turnSecret
        return result
    }
}

extension RelayedBroadcast.Environment {
    fileprivate init(
        _ configuration: RelaySession.Configuration, _ identity: Identity, _ session: ServiceSession,
        decide: @escaping HostSession.KnockPolicy
    ) {
        let descriptors = DescriptorPlan.ofThisProcess
        self.init(
            configuration: configuration, session: session, identity: identity,
            agents: LoopBound(
                session.loop,
                making: {
                    ICEAgentPool(
                        .init(agents: .max, descriptors: descriptors.agents, reserve: descriptors.reserve / 2))
                }),
            places: LoopBound(session.loop, making: { ViewerPlaces(configuration.maximumTotalViewers ?? .max) }),
            fanOut: LoopBound(
                session.loop,
                making: { FanOut(threads: configuration.sendingThreads, sharing: configuration.sharing) }),
            decide: decide)
    }
}
