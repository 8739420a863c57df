import Admission
import HTTP
import ICETransport
import Identifiers
import PeerConnection
import Signaling
import Synchronization

/// The tunnels over which viewers reach a host: one at the relay of its link, and one at each other relay of the cluster
/// to which its publication goes. Safe from any thread.
///
/// Tells the link at which newcomers reach the host: the first one, or that of another relay while the first one is away.
/// Pairs with the first relay again when that has started anew.
final class HostTunnels: Sendable {
    private struct Place {
        let number: Int
        let paired: PairedService
        let tunnel: TunnelClient
        var isConnected = false
    }

    private struct State {
        /// Nil before the start.
        var home: Place?
        /// The newest one is last. One for each relay.
        var others: [Place] = []
        var count = 0
        /// The link that was told last.
        var told: Link
        /// Pairs with the first relay again.
        var renewal: Task<Void, Never>?
        var isStopped = false

        /// The first link, unless only another relay is connected.
        func link(_ link: (PairedService) -> Link) -> Link {
            if let home, home.isConnected { return link(home.paired) }
            return others.last { $0.isConnected }.map { link($0.paired) } ?? told
        }

        var places: [Place] { (home.map { [$0] } ?? []) + others }

        mutating func change(_ number: Int, _ body: (inout Place) -> Void) {
            if var place = home, place.number == number {
                body(&place)
                home = place
            }
            for index in others.indices where others[index].number == number { body(&others[index]) }
        }
    }

    /// That the host's user has named.
    private let relay: PairedService
    /// At that relay.
    let link: Link
    private let server: SignalingServer
    private let listing: @Sendable (Link) -> Listing?
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let renewed: @Sendable (PairedService) -> Void
    private let state: Mutex<State>

    private static let shortestDelay = Duration.milliseconds(500)
    private static let longestDelay = Duration.seconds(30)
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
        state = Mutex(State(told: link))
    }

    private func makePlace(_ paired: PairedService) -> Place {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let tunnel = TunnelClient(
            .broadcast(link.id), client: paired.client, server: server, listing: listing(link(at: paired)),
            isOwnAddress: { ICEAgent.localInterfaceAddresses().contains($0) }
        ) { [weak self] in self?.handle($0, of: number) }
        return Place(number: number, paired: paired, tunnel: tunnel)
    }

    private func link(at paired: PairedService) -> Link {
        Link(
            host: paired.link.host, port: paired.link.port, id: link.id, secret: link.secret,
            fingerprint: link.fingerprint, relay: paired.link.fingerprint, flags: paired.link.flags)
    }

    /// The link at which newcomers reach the host; nil: the first one.
    var otherLink: Link? { state.withLock { $0.told == link ? nil : $0.told } }

    /// Opens the tunnel at the first relay.
    func start() async throws(SignalingError) {
        let home = makePlace(relay)
        state.withLock { $0.home = home }
        try await home.tunnel.start()
        guard !state.withLock({ $0.isStopped }) else { return await home.tunnel.stop() }
        set(home.number, isConnected: true)
    }

    /// Opens a tunnel at a relay of the cluster to which the publication is about to go, with its pairing.
    /// - Returns: false without a tunnel: the pairing is the publication's alone.
    func open(at paired: PairedService) async -> Bool {
        let place = makePlace(paired)
        do throws(SignalingError) {
            try await place.tunnel.start()
        } catch {
            return false
        }
        // A newer pairing of the same host has ended the former one there.
        let former = add(place)
        if paired.link == relay.link { renewed(paired) }
        await stop(former)
        tellLink()
        return true
    }

    /// - Returns: the tunnels that it replaces.
    private func add(_ new: Place) -> [Place] {
        var place = new
        place.isConnected = true
        return state.withLock { state in
            guard !state.isStopped else { return [place] }
            let former = state.places.filter { $0.paired.link == place.paired.link }
            if place.paired.link == relay.link {
                state.home = place
            } else {
                state.others.removeAll { $0.paired.link == place.paired.link }
                state.others.append(place)
            }
            return former
        }
    }

    /// The publication has gone to this relay. The tunnels at others are not needed any more, but for the first one and,
    /// while that is away, the newest one.
    func noteMoved(to paired: PairedService) async {
        let former = state.withLock { state in
            let kept = state.home?.isConnected == true ? nil : state.others.last?.number
            let former = state.others.filter { $0.paired.client !== paired.client && $0.number != kept }
            state.others.removeAll { place in former.contains { $0.number == place.number } }
            return former
        }
        await stop(former)
        tellLink()
    }

    private func stop(_ places: [Place]) async { for place in places { await place.tunnel.stop() } }

    /// Reports how many watch, where the broadcast is listed.
    func note(viewers: Int) async {
        for place in state.withLock({ $0.places }) { await place.tunnel.note(viewers: viewers) }
    }

    /// Ends all tunnels. May be called more than once.
    func stop() async {
        let places = state.withLock { state in
            state.isStopped = true
            state.renewal?.cancel()
            return state.places
        }
        await stop(places)
        if places.isEmpty { await relay.client.close() }
    }

    // MARK: Outages

    private func handle(_ event: TunnelClient.Event, of number: Int) {
        let (found, isHome) = state.withLock { state in
            (state.places.first { $0.number == number }, state.home?.number == number)
        }
        guard let place = found else { return }
        switch event {
        case .interrupted:
            set(number, isConnected: false)
            emit(.notice(.relay(.interrupted(relay: place.paired.name, .viewer))))
        case .connected:
            set(number, isConnected: true)
            emit(.notice(.relay(.connected(relay: place.paired.name))))
        case .ended(let reason, let end):
            set(number, isConnected: false)
            if isHome {
                homeEnded(reason, end, place)
            } else {
                state.withLock { $0.others.removeAll { $0.number == number } }
            }
        case .notListed(let reason): emit(.notice(.relay(.notListed(by: place.paired.name, reason: reason))))
        }
        tellLink()
    }

    private func set(_ number: Int, isConnected: Bool) {
        state.withLock { $0.change(number) { $0.isConnected = isConnected } }
    }

    private func tellLink() {
        let news: Link? = state.withLock { state in
            let link = state.link(link(at:))
            guard !state.isStopped, link != state.told else { return nil }
            state.told = link
            return link
        }
        if let news { emit(.linkChanged(news, isFirst: news == link)) }
    }

    private func homeEnded(_ reason: String, _ end: TunnelEnd, _ place: Place) {
        switch end {
        case .relayStopped: break
        case .unwanted: return emit(.notice(.relay(.tunnelEnded(reason: reason))))
        case .replaced:
            // Perhaps by the publication of this host, whose tunnel takes its place in a moment.
            Task { [weak self] in
                try? await Task.sleep(for: Self.replacementTime)
                self?.noteReplacement(of: place, reason)
            }
            return
        }
        if place.isConnected { emit(.notice(.relay(.interrupted(relay: place.paired.name, .viewer)))) }
        let renewal = Task { [weak self] in
            var delay = Self.shortestDelay
            while (try? await Task.sleep(for: delay)) != nil, await self?.renew() == false {
                delay = min(delay * 2, Self.longestDelay)
            }
        }
        state.withLock { state in
            state.renewal?.cancel()
            state.renewal = renewal
            if state.isStopped { renewal.cancel() }
        }
    }

    private func noteReplacement(of place: Place, _ reason: String) {
        let isLost = state.withLock { !$0.isStopped && $0.home?.number == place.number }
        if isLost { emit(.notice(.relay(.tunnelEnded(reason: reason)))) }
    }

    /// Pairs with the first relay again, and opens a tunnel there.
    /// - Returns: false if that has to be tried again.
    private func renew() async -> Bool {
        // The publication may have gone there meanwhile, with a tunnel.
        guard let home = state.withLock({ $0.isStopped ? nil : $0.home }), !home.isConnected else { return true }
        let paired: PairedService
        do throws(PairingFailure) {
            paired = try await home.paired.again()
        } catch {
            guard error.isFinal else { return false }
            emit(.notice(.relay(.tunnelEnded(reason: "\(error)"))))
            return true
        }
        let place = makePlace(paired)
        do throws(SignalingError) {
            try await place.tunnel.start()
        } catch {
            await place.tunnel.stop()
            return false
        }
        let former = add(place)
        if !state.withLock({ $0.isStopped }) {
            emit(.notice(.relay(.connected(relay: paired.name))))
            renewed(paired)
            tellLink()
        }
        await stop(former)
        return true
    }
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
