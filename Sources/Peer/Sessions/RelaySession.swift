public import Admission
import Cluster
import EventLoop
import LinuxRuntime
public import MediaCore
public import Publishing
import Receiving
public import Signaling
public import Transport

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
        /// Of one broadcast.
        public var maximumViewers = 64
        /// To one viewer.
        public var maximumBitrate = Bitrate.kilobits(20_000)
        /// Nil: there are no other relays.
        public var cluster: ClusterSettings?

        /// - Parameter service: its `media` is a free port on all addresses unless it has one.
        public init(service: ServiceSession.Configuration) {
            self.service = service
            self.service.media = service.media ?? MediaPort()
            self.service.videoCodecs = Set(VideoCodec.allCases)
            self.service.forwardsPackets = true
            self.service.takesMeetings = true
            self.service.directory = DirectorySettings()
        }
    }

    /// A broadcast that is taken in.
    private struct Relayed: Sendable {
        var broadcast: RelayedBroadcast
        var publisher: Publisher
        var isLive = false
        /// Those of this relay, and other relays.
        var viewers = 0
    }

    private let configuration: Configuration
    private let identity: Identity
    /// Of each broadcast, without its identifier and secret.
    private let viewers: BroadcastConfiguration
    private let session: ServiceSession
    private let relayed: Monitor<[SessionID: Relayed]>
    private let isDraining: Monitor<Bool>
    /// Nil after the end.
    private let environment: Monitor<RelayedBroadcast.Environment?>
    private let cluster = ClusterAccess()
    private let admit: HostSession.KnockPolicy
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
        self.admit = admit
        self.emit = emit
        let environment = Monitor<RelayedBroadcast.Environment?>(nil)
        let relayed = Monitor<[SessionID: Relayed]>([:])
        self.relayed = relayed
        let cluster = cluster
        let isDraining = Monitor(false)
        self.isDraining = isDraining
        var viewers = BroadcastConfiguration()
        viewers.serve(viewers: configuration.maximumViewers)
        viewers.iceServers = configuration.service.service.iceServers
        viewers.turnSecret = configuration.service.service.turnSecret
        let settings = viewers
        self.viewers = settings
        self.identity = identity
        var service = configuration.service
        service.viewers = configuration.maximumViewers
        if configuration.cluster != nil {
            service.finder = cluster
            service.noteListing = { id, entry in cluster.member?.update(id) { $0.listing = entry } }
        }
        session = ServiceSession(
            configuration: service, identity: identity,
            decide: { isDraining.with { $0 } ? .busy : await decide($0) },
            makeSink: { id, publisher in
                var own = settings
                (own.id, own.secret) = (.random(), Link.randomSecret())
                let broadcastID = own.id
                if configuration.cluster != nil { own.passKey = randomKey() }
                // The publisher and the other relays learn how many watch.
                let audience = Throttle<Int> { viewers in
                    environment.with { $0 }?.session.send(ServiceInfo(viewers: viewers), to: id)
                    cluster.note(viewers: viewers, of: broadcastID)
                }
                let broadcast = RelayedBroadcast(
                    name: (publisher.application?.name).map { UntrustedText.clean($0, fallback: "share") }, own,
                    environment.with { $0 },
                    decide: { knock in
                        if cluster.member?.isRelay(knock.identity.fingerprint) == true { return .accepted }
                        guard let environment = environment.with({ $0 }) else { return .unanswered }
                        if knock.mayPass, !isDraining.with({ $0 }) { return .accepted }
                        guard publisher.decidesOnViewers, !isDraining.with({ $0 }) else {
                            return await environment.decide(knock)
                        }
                        return await environment.session.ask(knock, of: id)
                    },
                    emit: { event in
                        emit(.broadcast(id, event))
                        guard let local = event.viewers else { return }
                        relayed.with { $0[id]?.viewers = local }
                        let viewers = cluster.audience(local, of: broadcastID)
                        environment.with { $0 }?.session.note(viewers: viewers, of: id)
                        audience.pass(viewers, interval: .betweenAudienceReports(viewers: viewers))
                    })
                relayed.with { $0[id] = Relayed(broadcast: broadcast, publisher: publisher) }
                return broadcast
            },
            findServed: { id in relayed.with { $0[id] }?.broadcast.served },
            emit: { event in
                if case .closed(let id, _, _) = event {
                    let ended = relayed.with { $0.removeValue(forKey: id) }
                    if let link = ended?.broadcast.link { cluster.member?.withdraw(link.id) }
                }
                emit(.service(event))
                switch event {
                case .connected(let id, _):
                    let live = relayed.with { relayed -> Relayed? in
                        guard let found = relayed[id], !found.isLive else { return nil }
                        relayed[id]?.isLive = true
                        return found
                    }
                    guard let live, let link = live.broadcast.link else { return }
                    environment.with { $0 }?.session.send(url: link.text, to: id)
                    cluster.announce(live.broadcast, of: live.publisher)
                    emit(.live(id, live.publisher, link))
                default: break
                }
            })
        self.environment = environment
        let descriptors = DescriptorPlan.ofThisProcess
        let shared = RelayedBroadcast.Environment(
            session: session, identity: identity, linkHost: configuration.service.linkHost,
            linkFlags: configuration.service.linkFlags,
            maximumViewers: configuration.maximumViewers, maximumBitrate: configuration.maximumBitrate,
            agents: LoopBound(
                session.loop,
                making: {
                    ICEAgentPool(
                        .init(agents: .max, descriptors: descriptors.agents, reserve: descriptors.reserve / 2))
                }), decide: { isDraining.with { $0 } ? .refused(Self.drainingText) : await admit($0) })
        environment.with { $0 = shared }
    }

    /// Opens the server.
    /// - Returns: the link for publishers. It holds no secret: who has it may ask to publish.
    public func start() async throws(EndReason) -> ServiceLink {
        let link = try await session.start()
        if let settings = configuration.cluster { join(settings, link) }
        return link
    }

    private func join(_ settings: ClusterSettings, _ link: ServiceLink) {
        let own = ClusterNode(
            name: settings.node, host: link.host, port: link.port, fingerprint: identity.fingerprint,
            isWebPKI: configuration.service.linkFlags.contains(.webPKI), region: session.directory?.region)
        let member = ClusterMember(
            own, bus: settings.bus, directory: session.directory,
            handlers: .init(
                decide: { [weak self] id, knock in
                    guard let self, !isDraining.with({ $0 }),
                        let (session, _) = relayed.with({ $0.first { $0.value.broadcast.link?.id == id } })
                    else { return .unanswered }
                    return await self.session.ask(knock, of: session)
                }, emit: { [weak self] in self?.report($0) }))
        let session = session
        let broadcasts = ClusterBroadcasts(
            member, own: own, settings: viewers, identity: identity, capacity: configuration.service.service.sessionCapacity,
            seat: {
                .init(loop: session.loop, localAddress: nil, socket: session.socket, isOneOfMany: false)
            },
            make: { [environment] configuration, name, decide, noteViewers in
                RelayedBroadcast(
                    name: name, configuration, environment.with { $0 }, decide: decide,
                    emit: { if let viewers = $0.viewers { noteViewers(viewers) } })
            },
            decide: { [isDraining, admit] in isDraining.with { $0 } ? .refused(Self.drainingText) : await admit($0) },
            emit: { [emit] in emit(.cluster($0)) })
        cluster.begin(member, broadcasts)
        member.start()
    }

    private func tellAlternates() { cluster.tellAlternates(relayed.with { $0.values.map(\.broadcast) }) }

    private func report(_ event: ClusterMember.Event) {
        switch event {
        case .joined(let node):
            tellAlternates()
            emit(.cluster(.joined(node)))
        case .left(let node):
            cluster.broadcasts?.relayHasGone(node)
            tellAlternates()
            emit(.cluster(.left(node)))
        case .nameIsTaken: emit(.cluster(.nameIsTaken))
        case .changed: tellAlternates()
        case .broadcastChanged(let id):
            guard
                let (session, own) = relayed.with({ $0.first { $0.value.broadcast.link?.id.text == id } }),
                let broadcast = own.broadcast.link?.id
            else { return }
            let viewers = cluster.audience(own.viewers, of: broadcast)
            self.session.note(viewers: viewers, of: session)
            self.session.send(ServiceInfo(viewers: viewers), to: session)
        }
    }

    /// The connection to the others of the cluster was made: they are told of this relay at once.
    public func clusterIsConnected() { cluster.member?.tick() }

    /// Presents this certificate to connections that come from now on. There was another one at the start.
    public func present(_ certificate: ServerCertificate) { session.present(certificate) }

    private static let drainingText = "the relay is about to stop"

    /// Takes no further publisher and no further viewer from now on. What runs goes on.
    public func drain() {
        isDraining.change { $0 = true }
        session.refuseBroadcasts()
        cluster.member?.drain()
        cluster.broadcasts?.drain()
        cluster.moveViewers(relayed.with { $0.values.map(\.broadcast) })
    }

    /// Whether publishers and viewers are taken.
    public var isReady: Bool { !isDraining.with { $0 } }

    /// Whether no broadcast runs.
    public var isIdle: Bool {
        relayed.with { $0.isEmpty } && !session.hasMeetings && cluster.broadcasts?.isIdle != false
    }

    public func statistics() async -> RelayStatistics {
        var result = RelayStatistics()
        result.isDraining = isDraining.with { $0 }
        result.signaling = session.signalingStatistics
        for (id, relayed) in relayed.with({ $0 }).sorted(by: { $0.key.text < $1.key.text }) {
            let received = await session.statistics(of: id)
            await result.add(relayed.broadcast, received)
        }
        for (broadcast, received) in await cluster.broadcasts?.statistics() ?? [] {
            await result.add(broadcast, received)
        }
        return result
    }

    /// Ends all broadcasts and frees everything.
    public func stop(reason: String = "the relay has stopped") async {
        cluster.member?.stop()
        await cluster.broadcasts?.stop()
        cluster.end()
        await session.stop(reason: reason)
        environment.with { $0 = nil }
    }
}

extension Knock {
    /// Another relay has admitted this viewer, and nobody has removed it here.
    var mayPass: Bool { hasPass && !wasRemoved }
}

/// A key for passes, 32 bytes.
private func randomKey() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<AdmissionPass.keyLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}
