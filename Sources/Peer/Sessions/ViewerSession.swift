public import Admission
import EventLoop
public import ICEServers
import ICETransport
import LinuxRuntime
public import MediaCore
import MediaEngine
import PeerEngine
public import Receiving
import SessionDescription
import Signaling
public import Transport

/// Watches a broadcast: knocks, connects, and passes received media to a sink. A viewer, a recorder and a service
/// differ only in their sinks.
///
/// Call `run` once; it returns the reason when the session is over. `leave` ends the session, from any thread.
public final class ViewerSession: Sendable {
    let link: Link
    let identity: Identity
    private let name: String
    private let ownServers: [ICEServer]
    private let usesOnlyRelays: Bool
    private let records: Bool
    /// What the sink takes.
    private let capabilities: MediaCapabilities
    let emit: @Sendable (ViewerEvent) -> Void
    private let loop: EventLoop
    private let seat: SharedSeat?
    private let socket = Monitor<LoopBound<ICELiteSocket>?>(nil)
    let core: LoopBound<Subscription>
    /// Of the session at one place, and the reason that the host's event names.
    private let outcomes = Monitor((outcome: Outcome(), told: Outcome()))
    var outcome: Outcome { outcomes.with { $0.outcome } }
    var told: Outcome { outcomes.with { $0.told } }
    let isBroadcastPaused = Monitor(false)
    let relays = Monitor(Relays())
    let followsAlternates: Bool
    private let hasLeft = Monitor(false)
    private let recoveryRequests: Monitor<AsyncStream<Subscription.RecoveryRequest>.Continuation?>
    /// The knock that waits for its answer.
    private let ticket = Monitor<KnockTicket?>(nil)
    private let servers = Monitor<ICEServerResolver?>(nil)
    /// The token and servers of the accepted knock.
    let admission = Monitor<Admission?>(nil)

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
            records: records, sink: sink, seat: nil, emit: emit)
    }

    /// What one of many sessions in a process has in place of threads and an ICE agent of its own.
    package struct SharedSeat: Sendable {
        let loop: EventLoop
        /// The numeric address that the session comes from; nil: any.
        var localAddress: String?
        /// The UDP port that it shares with others; nil: it gets one of its own.
        var socket: LoopBound<ICELiteSocket>?
        /// It receives for itself alone, and keeps few packets.
        var isOneOfMany = true
        /// It goes on at another relay by itself.
        var followsAlternates = true
    }

    /// The loop of many sessions in a process.
    package final class SharedLoop: Sendable {
        private let loop = EventLoop(name: "viewers")

        package init() {}

        /// - Parameter address: the numeric address that the session comes from.
        package func seat(at address: String) -> SharedSeat { SharedSeat(loop: loop, localAddress: address) }
    }

    /// - Parameter seat: nil: the session has threads of its own.
    package init(
        link: Link, identity: Identity, name: String, servers: [ICEServer] = [], usesOnlyRelays: Bool = false,
        records: Bool = false, sink: any EncodedMediaSink, seat: SharedSeat?,
        emit: @escaping @Sendable (ViewerEvent) -> Void
    ) {
        self.seat = seat
        followsAlternates = seat?.followsAlternates ?? true
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
        let (relays, outcomes) = (relays, outcomes)
        let loop = seat?.loop ?? EventLoop(name: "net-0")
        self.loop = loop
        let outcome = outcomes.with { $0.outcome }
        let requests = Monitor<AsyncStream<Subscription.RecoveryRequest>.Continuation?>(nil)
        recoveryRequests = requests
        core = LoopBound(
            loop,
            making: {
                let core = Subscription(
                    loop: loop, sink: sink,
                    emit: { event in
                        Self.follow(event, relays, outcomes.with { $0.outcome })
                        emit(event)
                    }, outcome: outcome, request: { request in _ = requests.with { $0 }?.yield(request) })
                if seat?.isOneOfMany == true { core.packetCapacity = 256 }
                return core
            })
    }

    /// Ends the session; `run` returns soon after.
    public func leave(_ reason: EndReason = EndReason(.stopped, "you left")) {
        hasLeft.with { $0 = true }
        outcome.settle(reason)
    }

    public func statistics() async -> ViewerStatistics? { await core.ifRunning { $0.statistics } ?? nil }

    /// Runs the session from the knock to its end.
    public func run() async -> EndReason {
        var link = link
        while true {
            let reason = await explained(await stay(at: link))
            let next = relays.with { relays in
                reason.mayGoOnElsewhere(relays.isMoving) ? relays.next(after: link, now: MonotonicClock.now) : nil
            }
            guard let next, !hasLeft.with({ $0 }) else { return await close(reason) }
            if relays.with({ $0.isRoundOver }) { try? await Task.sleep(for: .milliseconds(500)) }
            emit(.warning("\(reason.sentence): trying the relay at \(next.authority)"))
            link = next
            let outcome = Outcome()
            outcomes.with { $0 = (outcome, Outcome()) }
            if hasLeft.with({ $0 }) { outcome.settle(EndReason(.stopped, "you left")) }
            await core.ifRunning { $0.moveOn(outcome) }
        }
    }

    /// Notes what concerns the choice of a relay.
    private static func follow(_ event: ViewerEvent, _ relays: Monitor<Relays>, _ outcome: Outcome) {
        switch event {
        case .connected: relays.with { $0.noteConnected() }
        case .waiting(let outage) where outage >= patience && !relays.with({ $0.isEmpty }):
            outcome.settle(EndReason(.connectionLost, "nothing comes from the relay any more"))
        default: break
        }
    }

    private func close(_ reason: EndReason) async -> EndReason {
        await core.performAndWait { $0.close($1) }
        await servers.with({ $0 })?.close()
        await stopLoop()
        return reason
    }

    /// Runs the session with the server of a link.
    private func stay(at link: Link) async -> EndReason {
        let client: SignalingClient
        do throws(SignalingError) {
            var settings = SignalingClient.Configuration()
            settings.sharesThreads = seat != nil
            settings.localAddress = seat?.localAddress
            client = try SignalingClient(link: link, configuration: settings)
        } catch {
            return EndReason(error)
        }
        let (requests, source) = AsyncStream.makeStream(
            of: Subscription.RecoveryRequest.self,
            bufferingPolicy: .bufferingOldest(Subscription.recoveryRequestLimit))
        recoveryRequests.with { $0 = source }
        let outcome = outcome
        let journey = Task {
            do throws(EndReason) {
                try await enter(client, at: link, requests)
            } catch {
                outcome.settle(error)
            }
        }
        let reason = await told(await outcome.wait())
        journey.cancel()
        let ticket = ticket.with { ticket in
            defer { ticket = nil }
            return ticket
        }
        // TLS waits up to 5 s for the peer's close_notify, so closing runs in the background.
        guard !relays.with({ !$0.isEmpty && reason.mayGoOnElsewhere($0.isMoving) }) else {
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
        guard seat != nil else { return await loop.stop() }
        await socket.with({ $0 })?.performAndWait { socket, done in
            socket.close()
            done()
        }
    }

    /// The socket of a session that shares a loop; nil if it does not.
    private func sharedSocket() async throws(EndReason) -> LoopBound<ICELiteSocket>? {
        guard let seat else { return nil }
        if let known = seat.socket ?? socket.with({ $0 }) { return known }
        let opened = await core.ifRunning { [loop] _ in
            try? LoopBound(
                loop, ICELiteSocket(loop: loop, addresses: seat.localAddress.map { [$0] }, isOneOfMany: true))
        }
        guard let opened = opened ?? nil else {
            throw EndReason(.failed, "no UDP socket can be opened at \(seat.localAddress ?? "any address")")
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

    private func enter(
        _ client: SignalingClient, at link: Link, _ requests: AsyncStream<Subscription.RecoveryRequest>
    ) async throws(EndReason) {
        let (token, hostServers, pass) = try await knock(client)
        emit(.accepted)
        let addresses = await find(ownServers + hostServers)
        admission.with { $0 = Admission(token: token, servers: addresses, pass: pass) }
        try await prepare(addresses, at: link)
        let found = try await offer(client, at: link, token, timeout: nil)
        guard let credentials = found.credentials else { return }
        if !found.isComplete { Task { await trickleRest(client, credentials) } }
        async let listening: Void = listen(client, at: link)
        await recover(client, at: link, requests)
        await listening
    }

    /// Opens a transport and starts to gather.
    func prepare(_ addresses: ICEServerResolver.Addresses, at link: Link) async throws(EndReason) {
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
        _ client: SignalingClient, at link: Link, _ token: String, timeout: Duration?
    ) async throws(EndReason) -> Subscription.Gathered {
        let found = await core.gathered()
        guard let credentials = found.credentials, let print = Fingerprint(sha256: identity.fingerprint) else {
            throw EndReason(.failed, "this machine found no way to receive")
        }
        let offer = LocalDescription(
            credentials: credentials, fingerprint: print, candidates: found.candidates, endsCandidates: found.isComplete
        ).offer(capabilities)
        let text: String
        do throws(SignalingError) {
            text = try await client.offer(offer, token: token, timeout: timeout).sdp
        } catch {
            throw EndReason(error)
        }
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
        return found
    }

    /// Resolves the servers; returns at once if there are none.
    private func find(_ servers: [ICEServer]) async -> ICEServerResolver.Addresses {
        let book = ICEServerResolver(servers)
        self.servers.with { $0 = book }
        // The time limit is short, because a person waits for the first frame.
        let addresses = await book.addresses(limit: .milliseconds(1_500))
        for complaint in addresses.complaints { emit(.warning(complaint)) }
        return addresses
    }

    private func knock(
        _ client: SignalingClient
    ) async throws(EndReason) -> (token: String, servers: [ICEServer], pass: String?) {
        do throws(SignalingError) {
            let ticket = try await queue(client)
            // With a pass, nobody is asked.
            if admission.with({ $0?.pass }) == nil { emit(.knocking(words: ticket.words.description)) }
            self.ticket.with { $0 = ticket }
            let answer = try await client.waitForAnswer(ticket)
            self.ticket.with { $0 = nil }
            switch answer {
            case .accepted(let token, let servers): return (token, servers, await client.pass)
            case .refused(let reason): throw SignalingError(.refused, reason)
            case .unanswered: throw SignalingError(.unanswered, "nobody answered within 60 s")
            }
        } catch {
            throw EndReason(error)
        }
    }

    /// Knocks. If the host's queue is full, tries again for as long as a knock would wait for its answer.
    private func queue(_ client: SignalingClient) async throws(SignalingError) -> KnockTicket {
        let deadline = ContinuousClock.now + .seconds(60)
        var hasWaited = false
        while true {
            do throws(SignalingError) {
                return try await client.knock(
                    name: name, identity: identity, records: records, pass: admission.with { $0 }?.pass)
            } catch {
                guard error.code == .queueFull, ContinuousClock.now < deadline else { throw error }
                if !hasWaited {
                    emit(.warning("others are waiting for the host's answer; asking again until there is room"))
                }
                hasWaited = true
                guard (try? await Task.sleep(for: .seconds(3))) != nil else { throw error }
            }
        }
    }

    /// Sends the host the candidates that are found after the offer, until gathering is complete.
    func trickleRest(_ client: SignalingClient, _ credentials: ICECredentials) async {
        await core.trickle(credentials) { try? await client.trickle($0) }
    }
}

extension EndReason {
    init(_ error: SignalingError) {
        let code: Code =
            switch error.code {
            case .connectionRefused, .unreachable, .timedOut, .unknownHost, .oldLink: .unreachable
            case .certificateMismatch, .certificateUntrusted, .hostNotProven, .notAShareHost: .untrusted
            case .wrongSecret: .wrongSecret
            case .refused: .refused
            case .unanswered: .unanswered
            case .gone: .hostEnded
            case .connectionLost: .connectionLost
            case .tooMany, .queueFull, .offerRefused: .failed
            }
        self.init(code, error.description, remedy: error.remedy)
    }
}
