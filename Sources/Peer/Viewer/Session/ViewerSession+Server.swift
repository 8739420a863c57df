import Admission
import EventLoop
import HTTP
import ICETransport
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine
import SessionDescription
import Signaling
import Synchronization

/// The session at one server: the host, or a relay.
extension ViewerSession {
    /// Runs the session with the server of a link.
    /// - Parameter successor: has a connection already.
    func runSession(at link: Link, _ successor: PendingConnection?) async -> EndReason {
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

    func stopLoop() async {
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
    func explained(_ reason: EndReason) async -> EndReason {
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
        for problem in addresses.problems { emit(.notice(.machine(.serverUnused(reason: problem)))) }
        return addresses
    }

    /// Sends the host the candidates that are found after the offer, until gathering is complete.
    func trickleRest(
        _ client: SignalingClient, _ credentials: ICECredentials, _ core: LoopBound<Subscription>? = nil
    ) async {
        await (core ?? self.core).trickle(credentials) { try? await client.trickle($0) }
    }
}
