import Admission
package import EventLoop
import HTTP
package import ICETransport
public import Identifiers
public import Identity
package import LinuxRuntime
public import MediaCore
import MediaEngine
public import PeerConnection
import PeerEngine
import SessionDescription
public import Signaling
import Synchronization

/// Watches a broadcast: knocks, connects, and passes received media to a sink. A viewer, a recorder and a service
/// differ only in their sinks.
///
/// Call `run` once; it returns the reason when the session is over. `leave` ends the session, from any thread.
public final class ViewerSession: Sendable {
    let link: Link
    let identity: Identity
    let name: String
    let ownServers: [ICEServer]
    let usesOnlyRelays: Bool
    let records: Bool
    /// The codecs and extensions that the sink takes.
    let capabilities: MediaCapabilities
    let emit: @Sendable (ViewerEvent) -> Void
    let loop: EventLoop
    let resources: SharedResources?
    let socket = Monitor<LoopBound<ICELiteSocket>?>(nil)
    /// The connection whose media the sink gets.
    let current: Monitor<LoopBound<Subscription>>
    var core: LoopBound<Subscription> { current.with { $0 } }
    /// Of the session at the present place.
    let outcomes: Monitor<PlaceOutcomes>
    var outcome: OneShot<EndReason> { outcomes.with { $0.outcome } }
    let isBroadcastPaused = Monitor(false)
    let isPublisherInterrupted = Monitor(false)
    let relays = Monitor(Relays())
    let followsAlternates: Bool
    /// Where the servers are that have named others to go on at. The user has named the first one.
    private let namers = Mutex<Set<CandidatePolicy.Place>>([])
    let hasLeft = Monitor(false)
    /// The highest temporal layer to ask for; nil: all.
    let layerLimit = Mutex<Int?>(nil)
    let recoveryRequests = Monitor<AsyncStream<Subscription.RecoveryRequest>.Continuation?>(nil)
    /// Hands the sink to the session at another server; nil for a sink that forwards packets.
    let sinks: SinkHandover?
    let redirection = Monitor(Redirection())
    /// Called when the viewers of a relay go back to their host, in a session that forwards packets.
    package let onReturn = Monitor<(@Sendable () -> Void)?>(nil)
    /// The knock that waits for its answer.
    let ticket = Monitor<KnockTicket?>(nil)
    let servers = Monitor<ICEServerResolver?>(nil)
    /// Limits the connections to servers that hosts and relays have named, over the whole session.
    let serverAttempts = ConnectionAttempts()
    /// The token and servers of the accepted knock.
    let admission = Monitor<Admission?>(nil)

    /// Why the session at one place is over.
    struct PlaceOutcomes: Sendable {
        var outcome = OneShot<EndReason>()
        /// The reason that the host's event names.
        var told = OneShot<EndReason>()

        /// Takes the reason of the host's event.
        func tell(_ reason: EndReason) {
            told.fulfil(reason)
            outcome.fulfil(reason)
        }
    }

    struct Admission: Sendable {
        var token: String
        var servers: ICEServerResolver.Addresses
        /// For other servers of the broadcast.
        var pass: String?
    }

    /// - Parameters:
    ///   - servers: STUN and TURN servers to use beside those that the host names.
    ///   - usesOnlyRelays: hides this machine's addresses from the host in the media path.
    ///   - records: tells the host, and so its user and the other viewers, that this viewer records.
    ///   - sink: used by this session only, which closes it at its end.
    public convenience init(
        link: Link, identity: Identity, name: String, servers: [ICEServer] = [], usesOnlyRelays: Bool = false,
        records: Bool = false, sink: any EncodedMediaSink, emit: @escaping @Sendable (ViewerEvent) -> Void
    ) {
        self.init(
            link: link, identity: identity, name: name, servers: servers, usesOnlyRelays: usesOnlyRelays,
            records: records, sink: sink, resources: nil, emit: emit)
    }

    /// The shared loop and socket of one of many sessions in a process, in place of threads and an ICE agent of its own.
    package struct SharedResources: Sendable {
        let loop: EventLoop
        /// The numeric address that the session comes from; nil: any.
        var localAddress: String?
        /// The UDP port that it shares with others; nil: it gets one of its own.
        var socket: LoopBound<ICELiteSocket>?
        /// It receives for itself alone, and keeps few packets.
        var isOneOfMany = true
        /// It goes on at another relay by itself.
        var followsAlternates = true
        /// Which addresses the server of the link may have; nil: any, as the user has named it.
        package var permits: (@Sendable (String) -> Bool)?

        package init(
            loop: EventLoop, localAddress: String?, socket: LoopBound<ICELiteSocket>? = nil, isOneOfMany: Bool = true,
            followsAlternates: Bool = true
        ) {
            (self.loop, self.localAddress, self.socket) = (loop, localAddress, socket)
            (self.isOneOfMany, self.followsAlternates) = (isOneOfMany, followsAlternates)
        }
    }

    /// The loop of many sessions in a process.
    package final class SharedLoop: Sendable {
        private let loop = EventLoop(name: "viewers")

        package init() {}

        /// - Parameter address: the numeric address that the session comes from.
        package func resources(at address: String) -> SharedResources {
            SharedResources(loop: loop, localAddress: address)
        }
    }

    /// - Parameter resources: nil: the session has threads of its own.
    package init(
        link: Link, identity: Identity, name: String, servers: [ICEServer] = [], usesOnlyRelays: Bool = false,
        records: Bool = false, sink: any EncodedMediaSink, resources: SharedResources?,
        emit: @escaping @Sendable (ViewerEvent) -> Void
    ) {
        self.resources = resources
        followsAlternates = resources?.followsAlternates ?? true
        self.link = link
        self.identity = identity
        self.name = name
        ownServers = servers
        self.usesOnlyRelays = usesOnlyRelays
        self.records = records
        var capabilities = MediaCapabilities.receiving(sink.videoCodecs)
        if sink is any ForwardingSink {
            // It can make no use of references, and says how much its own viewers can get.
            (capabilities.usesReferences, capabilities.limitsBitrate) = (false, true)
        }
        self.capabilities = capabilities
        self.emit = emit
        let loop = resources?.loop ?? EventLoop(name: "net-0")
        self.loop = loop
        let outcomes = Monitor(PlaceOutcomes())
        self.outcomes = outcomes
        let sinks = sink is any ForwardingSink ? nil : SinkHandover(sink)
        self.sinks = sinks
        let (relays, requests, isOneOfMany) = (relays, recoveryRequests, resources?.isOneOfMany == true)
        let outcome = outcomes.with { $0.outcome }
        current = Monitor(
            LoopBound(
                loop,
                making: {
                    let core = Subscription(
                        loop: loop, sink: sinks?.makeInput(loop) ?? sink,
                        emit: { event in
                            Self.follow(event, relays, outcomes.with { $0.outcome })
                            emit(event)
                        }, outcome: outcome, request: { request in _ = requests.with { $0 }?.yield(request) })
                    if isOneOfMany { core.packetCapacity = 256 }
                    return core
                }))
    }

    var isOneOfMany: Bool { resources?.isOneOfMany == true }

    /// Ends the session; `run` returns soon after.
    public func leave(_ reason: EndReason = EndReason(.stopped, "you left")) {
        hasLeft.with { $0 = true }
        outcome.fulfil(reason)
    }

    /// Sets the highest temporal layer of the video to ask for, in sessions that begin from now on.
    public func limitLayers(to layer: Int) { layerLimit.withLock { $0 = layer } }

    public func statistics() async -> ViewerStatistics? { await core.ifRunning { $0.statistics } ?? nil }

    /// Runs the session from the knock to its end.
    public func run() async -> EndReason {
        var (link, successor) = (link, PendingConnection?.none)
        while true {
            let reason = await explained(await runSession(at: link, successor))
            successor = redirection.with { $0.takeArrival() }
            if successor == nil, link != self.link { successor = await endReturn() }
            if let successor {
                link = successor.link
                continue
            }
            let next = relays.with { relays in
                reason.mayGoOnElsewhere(relays.isMoving) ? relays.next(after: link, now: MonotonicClock.now) : nil
            }
            if next == nil, link != self.link, let home = home(after: reason) {
                link = home
                await begin()
                continue
            }
            guard let next, !hasLeft.with({ $0 }) else {
                // The host has ended the broadcast elsewhere first.
                let former = relays.with { $0.formerEnd }
                return await close(former?.code == .hostEnded && reason.code != .stopped ? former ?? reason : reason)
            }
            if relays.with({ $0.isRoundOver }) { try? await Task.sleep(for: .milliseconds(500)) }
            emit(.notice(.viewing(.sessionLost(reason, relay: next.authority))))
            link = next
            await begin()
        }
    }

    /// Begins a session at another server, without a connection.
    private func begin() async {
        let outcome = OneShot<EndReason>()
        outcomes.with { $0 = PlaceOutcomes(outcome: outcome) }
        if hasLeft.with({ $0 }) { outcome.fulfil(EndReason(.stopped, "you left")) }
        await core.ifRunning { $0.moveOn(outcome) }
    }

    /// Notes what concerns the choice of a relay.
    static func follow(_ event: ViewerEvent, _ relays: Monitor<Relays>, _ outcome: OneShot<EndReason>) {
        switch event {
        case .connected: relays.with { $0.noteConnected() }
        case .waiting(let outage) where outage >= patience && !relays.with({ $0.isEmpty }):
            outcome.fulfil(EndReason(.connectionLost, "nothing comes from the relay any more"))
        default: break
        }
    }

    private func close(_ reason: EndReason) async -> EndReason {
        await endRedirection()
        await core.performAndWait { $0.close($1) }
        await servers.with({ $0 })?.close()
        await stopLoop()
        return reason
    }

    func makeClient(_ link: Link) throws(SignalingError) -> SignalingClient {
        var settings = SignalingClient.Configuration()
        settings.sharesThreads = resources != nil
        settings.localAddress = resources?.localAddress
        settings.permits =
            link == self.link ? resources?.permits : ServerAddressRule(namedAt: namers.withLock { $0 }).permits
        return try SignalingClient(link: link, configuration: settings)
    }

    /// The server of this link has admitted the viewer, and may name others.
    func noteNamer(_ link: Link) {
        let place = CandidatePolicy.place(of: link.host, own: ICEAgent.localInterfaceAddresses())
        namers.withLock { _ = $0.insert(place) }
    }
}
