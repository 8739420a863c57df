public import Admission
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
}

/// A relay: takes broadcasts in by WHIP, after a pairing or with the token of WHIP tools, and serves each to viewers
/// under a link of its own, without decoding it. All of them have one HTTPS port, and one UDP port for media.
///
/// Call `start` once. `stop` frees everything and may be called twice.
public final class RelaySession: Sendable {
    public struct Configuration: Sendable {
        public var service: ServiceSession.Configuration
        /// Of one broadcast.
        public var maximumViewers = 64
        /// To one viewer.
        public var maximumBitrate = Bitrate.kilobits(20_000)

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
    }

    private let session: ServiceSession
    private let relayed: Monitor<[SessionID: Relayed]>
    private let isDraining: Monitor<Bool>
    /// Nil after the end.
    private let environment: Monitor<RelayedBroadcast.Environment?>

    /// - Parameters:
    ///   - decide: answers publishers that want to pair; called for several at a time.
    ///   - admit: answers viewers that knock.
    ///   - emit: called from any thread.
    public init(
        configuration: Configuration, identity: Identity,
        decide: @escaping @Sendable (PairingRequest) async -> PairingDecision,
        admit: @escaping HostSession.KnockPolicy, emit: @escaping @Sendable (RelayEvent) -> Void
    ) {
        let environment = Monitor<RelayedBroadcast.Environment?>(nil)
        let relayed = Monitor<[SessionID: Relayed]>([:])
        self.relayed = relayed
        let isDraining = Monitor(false)
        self.isDraining = isDraining
        var viewers = BroadcastConfiguration()
        viewers.serve(viewers: configuration.maximumViewers)
        viewers.iceServers = configuration.service.service.iceServers
        viewers.turnSecret = configuration.service.service.turnSecret
        let settings = viewers
        var service = configuration.service
        service.viewers = configuration.maximumViewers
        session = ServiceSession(
            configuration: service, identity: identity,
            decide: { isDraining.with { $0 } ? .busy : await decide($0) },
            makeSink: { id, publisher in
                var own = settings
                (own.id, own.secret) = (.random(), Link.randomSecret())
                // The publisher learns how many watch.
                let audience = Throttle<Int> { viewers in
                    environment.with { $0 }?.session.send(ServiceInfo(viewers: viewers), to: id)
                }
                let broadcast = RelayedBroadcast(
                    name: (publisher.application?.name).map { UntrustedText.clean($0, fallback: "share") }, own,
                    environment.with { $0 },
                    decide: { knock in
                        guard let environment = environment.with({ $0 }) else { return .unanswered }
                        guard publisher.decidesOnViewers, !isDraining.with({ $0 }) else {
                            return await environment.decide(knock)
                        }
                        return await environment.session.ask(knock, of: id)
                    },
                    emit: { event in
                        emit(.broadcast(id, event))
                        guard let viewers = event.viewers else { return }
                        environment.with { $0 }?.session.note(viewers: viewers, of: id)
                        audience.pass(viewers, interval: .betweenAudienceReports(viewers: viewers))
                    })
                relayed.with { $0[id] = Relayed(broadcast: broadcast, publisher: publisher) }
                return broadcast
            },
            findServed: { id in relayed.with { $0[id] }?.broadcast.served },
            emit: { event in
                if case .closed(let id, _, _) = event { relayed.with { $0[id] = nil } }
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
    public func start() async throws(EndReason) -> ServiceLink { try await session.start() }

    /// Presents this certificate to connections that come from now on. There was another one at the start.
    public func present(_ certificate: ServerCertificate) { session.present(certificate) }

    private static let drainingText = "the relay is about to stop"

    /// Takes no further publisher and no further viewer from now on. What runs goes on.
    public func drain() {
        isDraining.change { $0 = true }
        session.refuseBroadcasts()
    }

    /// Whether publishers and viewers are taken.
    public var isReady: Bool { !isDraining.with { $0 } }

    /// Whether no broadcast runs.
    public var isIdle: Bool { relayed.with { $0.isEmpty } && !session.hasMeetings }

    public func statistics() async -> RelayStatistics {
        var result = RelayStatistics()
        result.isDraining = isDraining.with { $0 }
        result.signaling = session.signalingStatistics
        for (id, relayed) in relayed.with({ $0 }).sorted(by: { $0.key.text < $1.key.text }) {
            guard let (broadcast, codec, traffic) = await relayed.broadcast.traffic() else { continue }
            let received = await session.statistics(of: id)
            result.broadcasts.append(
                RelayStatistics.Broadcast(
                    name: relayed.broadcast.displayName, id: broadcast.text, codec: codec, viewers: traffic.viewers,
                    connected: traffic.connected, packetsReceived: received?.packetsReceived ?? 0,
                    bytesReceived: received?.bytesReceived ?? 0, packetsLost: received?.packetsLost ?? 0,
                    packetsSent: traffic.packets, bytesSent: traffic.bytes, retransmissions: traffic.retransmissions,
                    keyframeRequests: traffic.keyframeRequests, delays: traffic.delays, badPackets: traffic.badPackets))
        }
        return result
    }

    /// Ends all broadcasts and frees everything.
    public func stop(reason: String = "the relay has stopped") async {
        await session.stop(reason: reason)
        environment.with { $0 = nil }
    }
}
