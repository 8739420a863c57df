import Admission
import HTTP
import ICETransport
import Identifiers
import PeerConnection
import Signaling
import Synchronization

/// The tunnels over which viewers reach a host: one at the relay of its link, and one at each other relay of the
/// cluster to which its publication goes. Safe from any thread.
///
/// Tells the link at which newcomers reach the host: the first one, or that of another relay while the first one is
/// away. Pairs with the first relay again when that has started anew. Tunnels are opened and stopped one after the
/// other.
final class HostTunnels: Sendable {
    /// That the host's user has named.
    private let relay: PairedService
    /// At that relay.
    let link: Link
    private let server: SignalingServer
    private let listing: @Sendable (Link) -> Listing?
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let renewed: @Sendable (PairedService) -> Void
    private let state: Mutex<HostTunnelState>

    private static let replacementTime = Duration.seconds(2)

    /// - Parameters:
    ///   - relay: that the host's user has named.
    ///   - link: at that relay.
    ///   - listing: of the broadcast with a link, in a relay's directory; nil: it is not listed.
    ///   - renewed: called with another pairing with that relay; the client of the former one is closed.
    init(
        to relay: PairedService, link: Link, server: SignalingServer,
        listing: @escaping @Sendable (Link) -> Listing?, emit: @escaping @Sendable (BroadcastEvent) -> Void,
        renewed: @escaping @Sendable (PairedService) -> Void
    ) {
        (self.relay, self.link, self.server) = (relay, link, server)
        (self.listing, self.emit, self.renewed) = (listing, emit, renewed)
        state = Mutex(HostTunnelState(told: link))
    }

    private func link(at paired: PairedService) -> Link {
        Link(
            host: paired.link.host, port: paired.link.port, id: link.id, secret: link.secret,
            fingerprint: link.fingerprint, relay: paired.link.fingerprint, flags: paired.link.flags)
    }

    /// A cluster may name the relay by another address than the user has.
    private func isFirst(_ paired: PairedService) -> Bool { paired.link.isSameService(as: relay.link) }

    /// The link at which newcomers reach the host; nil: the first one.
    var otherLink: Link? { state.withLock { $0.told == link ? nil : $0.told } }

    // MARK: Opening and stopping

    /// Runs after all steps before it.
    private func serially<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
        let task = state.withLock { state in
            let former = state.step
            let task = Task {
                await former?.value
                return await body()
            }
            state.step = Task { _ = await task.value }
            return task
        }
        return await task.value
    }

    /// - Returns: nil after `stop`.
    private func add(_ paired: PairedService, isFirst: Bool = false) -> RelayTunnel? {
        let listing = listing(link(at: paired))
        return state.withLock { state in
            if state.isStopped { return nil }
            return state.add(paired, isFirst: isFirst) { number in
                TunnelClient(
                    .broadcast(link.id), client: paired.client, server: server, listing: listing,
                    isOwnAddress: { ICEAgent.localInterfaceAddresses().contains($0) }
                ) { [weak self] in self?.handle($0, of: number) }
            }
        }
    }

    /// Opens the tunnel at the first relay.
    func start() async throws(SignalingError) {
        guard let tunnel = add(relay, isFirst: true) else { return }
        try await tunnel.client.start()
        _ = state.withLock { $0.opened(tunnel, isFirst: true) }
    }

    /// Opens a tunnel at a relay of the cluster to which the publication is about to go, with its pairing.
    /// - Returns: false without a tunnel: the pairing is the publication's alone.
    func open(at paired: PairedService) async -> Bool {
        if isFirst(paired) { state.withLock { $0.renewal?.cancel() } }
        return await serially { [self] in await openNow(at: paired) }
    }

    private func openNow(at paired: PairedService) async -> Bool {
        guard let tunnel = add(paired) else { return false }
        let hasStarted: Bool
        do throws(SignalingError) {
            try await tunnel.client.start()
            hasStarted = true
        } catch {
            hasStarted = false
        }
        let isFirst = isFirst(paired)
        let former = state.withLock { state in
            guard hasStarted, !state.isStopped else {
                _ = state.remove { $0.number == tunnel.number }
                return [RelayTunnel]?.none
            }
            return state.opened(tunnel, isFirst: isFirst)
        }
        if former == nil, hasStarted, state.withLock({ $0.isStopped }) { await tunnel.client.stop() }
        guard let former else { return false }
        if isFirst { renewed(paired) }
        tellLink()
        await stop(former)
        if let application = state.withLock({ $0.application }) { try? await paired.send(.application(application)) }
        return true
    }

    /// The publication has gone to this relay. Tunnels at others are not needed any more.
    func noteMoved(to paired: PairedService) {
        state.withLock { $0.publish(over: paired.client) }
        Task { [self] in
            await serially { [self] in await stop(state.withLock { $0.prune() }) }
            tellLink()
        }
    }

    private func stop(_ tunnels: [RelayTunnel]) async { for tunnel in tunnels { await tunnel.client.stop() } }

    /// Ends all tunnels. May be called more than once.
    func stop() async {
        let renewal = state.withLock { state in
            state.isStopped = true
            state.renewal?.cancel()
            return state.renewal
        }
        await renewal?.value
        await serially { [self] in
            let tunnels = state.withLock { $0.remove { _ in true } }
            await stop(tunnels)
            if tunnels.isEmpty { await relay.client.close() }
        }
    }

    // MARK: The directories

    /// Reports how many watch, where the broadcast is listed.
    func note(viewers: Int) async {
        await withDiscardingTaskGroup { group in
            for tunnel in state.withLock({ $0.tunnels }) {
                group.addTask { await tunnel.client.note(viewers: viewers) }
            }
        }
    }

    /// Tells what is shown. A relay that cannot be told lists the host's own name.
    func note(_ application: ApplicationInfo) async {
        let tunnels = state.withLock { state in
            state.application = application
            return state.tunnels
        }
        await withDiscardingTaskGroup { group in
            for tunnel in tunnels { group.addTask { try? await tunnel.paired.send(.application(application)) } }
        }
    }

    // MARK: Outages

    private func handle(_ event: TunnelClient.Event, of number: Int) {
        guard let tunnel = state.withLock({ $0.tunnel(number) }) else { return }
        switch event {
        case .interrupted:
            state.withLock { $0.set(number, .interrupted) }
            emit(.notice(.relay(.interrupted(relay: tunnel.paired.name, .viewer))))
        case .connected:
            state.withLock { $0.set(number, .connected) }
            emit(.notice(.relay(.connected(relay: tunnel.paired.name))))
        case .ended(let reason, let end):
            let (isFirst, isNeeded) = state.withLock { state in
                state.set(number, .ended)
                // Whoever opens it looks at it afterwards.
                return (state.first == number, tunnel.progress == .opening || state.published == number)
            }
            if isFirst {
                firstEnded(reason, end, tunnel)
            } else if !isNeeded {
                let ended = state.withLock { $0.remove { $0.number == number } }
                Task { [self] in await serially { [self] in await stop(ended) } }
            }
        case .notListed(let reason): emit(.notice(.relay(.notListed(by: tunnel.paired.name, reason: reason))))
        }
        tellLink()
    }

    /// Each link is told in order, whichever threads find it.
    private func tellLink() {
        while let news = state.withLock({ state -> Link? in
            guard let link = state.reached.map(link(at:)), !state.isStopped, !state.isTelling, link != state.told
            else { return nil }
            (state.told, state.isTelling) = (link, true)
            return link
        }) {
            emit(.linkChanged(news, isFirst: news == link))
            state.withLock { $0.isTelling = false }
        }
    }

    private func firstEnded(_ reason: String, _ end: TunnelEnd, _ tunnel: RelayTunnel) {
        switch end {
        case .relayStopped: break
        case .unwanted: return emit(.notice(.relay(.tunnelEnded(reason: reason))))
        case .replaced:
            // Perhaps by the publication of this host, whose tunnel takes its place in a moment.
            Task { [weak self] in
                try? await Task.sleep(for: Self.replacementTime)
                self?.noteReplacement(of: tunnel, reason)
            }
            return
        }
        if tunnel.progress == .connected {
            emit(.notice(.relay(.interrupted(relay: tunnel.paired.name, .viewer))))
        }
        state.withLock { state in
            state.renewal?.cancel()
            guard !state.isStopped else { return }
            state.noteEnd(of: tunnel, now: .now)
            state.renewal = Task { [weak self] in
                while let delay = self?.state.withLock({ $0.nextDelay() }), (try? await Task.sleep(for: delay)) != nil,
                    await self?.renew() == false
                {}
            }
        }
    }

    private func noteReplacement(of tunnel: RelayTunnel, _ reason: String) {
        if state.withLock({ !$0.isStopped && $0.first == tunnel.number }) {
            emit(.notice(.relay(.tunnelEnded(reason: reason))))
        }
    }

    /// Pairs with the first relay again, and opens a tunnel there.
    /// - Returns: false if that has to be tried again.
    private func renew() async -> Bool {
        // The publication may have gone there meanwhile, with a tunnel.
        guard let former = lostFirst() else { return true }
        let paired: PairedService
        do throws(PairingFailure) {
            paired = try await former.paired.again()
        } catch {
            guard error.isFinal, !Task.isCancelled else { return Task.isCancelled }
            emit(.notice(.relay(.tunnelEnded(reason: "\(error)"))))
            return true
        }
        return await serially { [self] in
            guard lostFirst()?.number == former.number else {
                await paired.close()
                return true
            }
            guard await openNow(at: paired) else {
                await paired.close()
                return false
            }
            emit(.notice(.relay(.connected(relay: paired.name))))
            return true
        }
    }

    private func lostFirst() -> RelayTunnel? { state.withLock { $0.isStopped ? nil : $0.lostFirst } }
}

extension PairingFailure {
    /// Whether the relay does not want this host, or is another one: nothing else follows from another try.
    fileprivate var isFinal: Bool {
        switch self {
        case .declined, .setup, .refused, .wrongSecret, .unanswered, .certificateChanged, .wrongSignature: true
        case .timedOut, .unknownService, .malformed, .busy, .gone, .unreachable: false
        }
    }
}
