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
    private let usesOnlyRelays: Bool
    let records: Bool
    /// The codecs and extensions that the sink takes.
    let capabilities: MediaCapabilities
    let emit: @Sendable (ViewerEvent) -> Void
    let loop: EventLoop
    private let resources: SharedResources?
    private let socket = Monitor<LoopBound<ICELiteSocket>?>(nil)
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
    private let layerLimit = Mutex<Int?>(nil)
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
            let reason = await explained(await stay(at: link, successor))
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

    /// Runs the session with the server of a link.
    /// - Parameter successor: has a connection already.
    private func stay(at link: Link, _ successor: PendingConnection?) async -> EndReason {
        let client: SignalingClient
        do throws(SignalingError) {
            client = if let successor { successor.client } else { try makeClient(link) }
        } catch {
            return EndReason(error)
        }
        let (requests, source) = AsyncStream.makeStream(
            of: Subscription.RecoveryRequest.self,
            bufferingPolicy: .bufferingOldest(Subscription.recoveryRequestLimit))
        recoveryRequests.with { $0 = source }
        let place = outcomes.with { $0 }
        let sessionTask = Task {
            do throws(EndReason) {
                if successor == nil { try await enter(client, at: link) } else { noteNamer(link) }
                guard !redirection.with({ $0.hasArrived }) else { return }
                async let listening: Void = listen(client, at: link, place)
                async let renewing: Void = renewServers(client, at: place)
                await recover(client, at: link, requests)
                await listening
                await renewing
            } catch {
                place.outcome.fulfil(error)
            }
        }
        let reason = await told(await place.outcome.value, at: place)
        sessionTask.cancel()
        let ticket = ticket.with { ticket in
            defer { ticket = nil }
            return ticket
        }
        // TLS waits up to 5 s for the peer's close_notify, so closing runs in the background.
        guard !redirection.with({ $0.hasArrived }), link == self.link || hasLeft.with({ $0 }),
            !relays.with({ !$0.isEmpty && reason.mayGoOnElsewhere($0.isMoving) })
        else {
            Task.detached {
                await client.leave()
                await client.close()
            }
            return reason
        }
        // What the host is told comes after the end of the media.
        await core.performAndWait { $0.close($1) }
        if let ticket { await client.withdraw(ticket) }
        await client.leave()
        Task.detached { await client.close() }
        return reason
    }

    private func stopLoop() async {
        guard resources != nil else { return await loop.stop() }
        await socket.with({ $0 })?.performAndWait { socket, done in
            socket.close()
            done()
        }
    }

    /// The socket of a session that shares a loop; nil if it does not.
    private func sharedSocket() async throws(EndReason) -> LoopBound<ICELiteSocket>? {
        guard let resources else { return nil }
        if let known = resources.socket ?? socket.with({ $0 }) { return known }
        let opened = await core.ifRunning { [loop] _ in
            try? LoopBound(
                loop, ICELiteSocket(loop: loop, addresses: resources.localAddress.map { [$0] }, isOneOfMany: true))
        }
        guard let opened = opened ?? nil else {
            throw EndReason(.failed, "no UDP socket can be opened at \(resources.localAddress ?? "any address")")
        }
        socket.with { $0 = opened }
        return opened
    }

    /// Adds the results of server checks to a reason that says that no connection was found, or that it was lost.
    private func explained(_ reason: EndReason) async -> EndReason {
        guard let servers = servers.with({ $0 }) else { return reason }
        let lost = reason == .hostIsSilent ? await core.ifRunning { $0.connectivity } ?? nil : nil
        guard var report = reason.code == .noRoute ? reason.connectivity : lost else { return reason }
        report.servers = await servers.findings().map { .init(url: $0.url, finding: $0.finding) }
        return lost == nil ? EndReason(report, other: "the host") : reason.explained(by: report)
    }

    private func enter(_ client: SignalingClient, at link: Link) async throws(EndReason) {
        let (token, hostServers, pass) = try await knock(client)
        emit(.accepted)
        noteNamer(link)
        if link == self.link {
            let origin = await client.origin
            redirection.with { $0.noteKnock(origin) }
        }
        guard await !followInitialRedirect(client, at: link) else { return }
        let addresses = await find(GrantedServers(hostServers, by: link.host))
        admission.with { $0 = Admission(token: token, servers: addresses, pass: pass) }
        try await prepare(addresses, at: link)
        let found = try await offer(client, at: link, token, timeout: nil)
        if !found.isComplete, let credentials = found.credentials {
            Task { await trickleRest(client, credentials) }
        }
    }

    /// Opens a transport and starts to gather.
    /// - Parameter core: nil: the present connection is replaced.
    func prepare(
        _ addresses: ICEServerResolver.Addresses, at link: Link, _ core: LoopBound<Subscription>? = nil
    ) async throws(EndReason) {
        let core = core ?? self.core
        let own = SecureTransport.Identity(identity)
        let expected = link.fingerprint
        let relaysOnly = usesOnlyRelays
        let place = CandidatePolicy.place(of: link.host, own: ICEAgent.localInterfaceAddresses())
        let socket = try await sharedSocket()
        if let failure = await core.ifRunning({
            $0.prepare(
                own, expected: expected, includesLoopback: place == .loopback, servers: addresses,
                usesOnlyRelays: relaysOnly,
                place: place, socket: socket)
        }) ?? nil {
            throw failure
        }
    }

    /// Sends the offer, checks the answer's certificate, and starts the connection.
    func offer(
        _ client: SignalingClient, at link: Link, _ token: String, timeout: Duration?,
        _ core: LoopBound<Subscription>? = nil
    ) async throws(EndReason) -> Subscription.Gathered {
        let core = core ?? self.core
        let found = await core.gathered()
        guard let credentials = found.credentials, let print = Fingerprint(sha256: identity.fingerprint) else {
            throw EndReason(.failed, "this machine found no way to receive")
        }
        let offer = LocalDescription(
            credentials: credentials, fingerprint: print, candidates: found.candidates, endsCandidates: found.isComplete
        ).offer(capabilities)
        let text = try await answer(to: offer, client, at: link, token, timeout)
        let answer: Answer
        do {
            answer = try Answer(text, to: capabilities)
        } catch {
            throw EndReason(.failed, "the host's answer cannot be used (\(error))")
        }
        guard answer.fingerprint.bytes == link.fingerprint else {
            throw EndReason(.untrusted, "the answer names another certificate than the link")
        }
        if let name = answer.name { emit(.named(UntrustedText.clean(name, fallback: "share"))) }
        await core.ifRunning { $0.begin(answer) }
        if let layer = layerLimit.withLock({ $0 }) { Task { await select(layer, client) } }
        return found
    }

    private func select(_ layer: Int, _ client: SignalingClient) async {
        do throws(SignalingError) {
            try await client.select(LayerSelection(maxTemporalLayerId: layer))
        } catch {
            // A session that has ended meanwhile gets nothing.
            guard ![.gone, .connectionLost].contains(error.code) else { return }
            emit(.notice(.media(.layersUnlimited(error))))
        }
    }

    /// Sends an offer. If the server is busy and says when it will not be, it is asked again then, a few times.
    /// - Parameter timeout: nil: the session begins here; else it goes on, and its own attempts follow.
    private func answer(
        to offer: String, _ client: SignalingClient, at link: Link, _ token: String, _ timeout: Duration?
    ) async throws(EndReason) -> String {
        for attempt in 1... {
            do throws(SignalingError) {
                return try await client.offer(offer, token: token, timeout: timeout).sdp
            } catch {
                // Another relay is asked before a busy one is asked again.
                guard timeout == nil, attempt < Self.offerLimit, let wait = error.retryAfter, wait <= Self.longestWait,
                    !relays.with({ $0.isMoving }), !hasLeft.with({ $0 })
                else { throw EndReason(error) }
                if attempt == 1 { emit(.notice(.viewing(.serverBusy(server: link.authority, error, seconds: wait)))) }
                guard (try? await Task.sleep(for: .seconds(wait))) != nil else { throw EndReason(error) }
            }
        }
        throw .hostIsSilent
    }

    private static let offerLimit = 5
    /// The longest Retry-After that is waited for, in seconds.
    static let longestWait = 30

    /// Resolves the servers; returns at once if there are none.
    private func find(_ granted: GrantedServers) async -> ICEServerResolver.Addresses {
        let resolver = ICEServerResolver(ownServers, granted: granted, attempts: serverAttempts)
        let former = servers.with { servers in
            defer { servers = resolver }
            return servers
        }
        await former?.close()
        // The time limit is short, because a person waits for the first frame.
        let addresses = await resolver.addresses(limit: .milliseconds(1_500))
        for complaint in addresses.complaints { emit(.notice(.machine(.serverUnused(reason: complaint)))) }
        return addresses
    }

    /// Sends the host the candidates that are found after the offer, until gathering is complete.
    func trickleRest(
        _ client: SignalingClient, _ credentials: ICECredentials, _ core: LoopBound<Subscription>? = nil
    ) async {
        await (core ?? self.core).trickle(credentials) { try? await client.trickle($0) }
    }
}
