import Admission
import Identifiers
import Signaling

/// A tunnel of a host at one relay.
struct RelayTunnel {
    enum Progress {
        /// Events may come already.
        case opening
        case connected, interrupted, ended
    }

    let number: Int
    let paired: PairedService
    let client: TunnelClient
    fileprivate(set) var progress = Progress.opening
    fileprivate let since = ContinuousClock.now
}

/// What ``HostTunnels`` knows of its tunnels.
struct HostTunnelState {
    /// The newest one is last. One for each relay, beside one that is about to take its place.
    private(set) var tunnels: [RelayTunnel] = []
    private var count = 0
    /// The number of the tunnel at the relay of the link.
    private(set) var first: Int?
    /// The number of the tunnel at the relay that has the publication.
    private(set) var published: Int?
    /// The link that was told last, and whether that is under way.
    var told: Link
    var isTelling = false
    /// Pairs with the first relay again.
    var renewal: Task<Void, Never>?
    /// Grows until a tunnel at the first relay has lasted, as a relay may end each.
    private var renewalDelay = Self.shortestDelay
    /// What is shown, for the relays' directories.
    var application: ApplicationInfo?
    /// The last step that opens or stops tunnels.
    var step: Task<Void, Never>?
    var isStopped = false

    private static let shortestDelay = Duration.milliseconds(500)
    private static let longestDelay = Duration.seconds(30)
    private static let stableTime = Duration.seconds(30)

    init(told: Link) { self.told = told }

    func tunnel(_ number: Int?) -> RelayTunnel? { tunnels.first { $0.number == number } }

    /// The first tunnel, if it is away.
    var lostFirst: RelayTunnel? { tunnel(first).flatMap { $0.progress == .connected ? nil : $0 } }

    /// Where newcomers reach the host: at the first relay, unless only another one is connected; nil: at none.
    var reached: PairedService? {
        let first = tunnel(first).flatMap { $0.progress == .connected ? $0 : nil }
        return (first ?? tunnels.last { $0.progress == .connected })?.paired
    }

    mutating func add(
        _ paired: PairedService, isFirst: Bool, _ makeClient: (Int) -> TunnelClient
    ) -> RelayTunnel {
        count += 1
        let tunnel = RelayTunnel(number: count, paired: paired, client: makeClient(count))
        tunnels.append(tunnel)
        if isFirst { first = count }
        return tunnel
    }

    mutating func set(_ number: Int, _ progress: RelayTunnel.Progress) {
        for index in tunnels.indices where tunnels[index].number == number { tunnels[index].progress = progress }
    }

    /// - Returns: the tunnels that are not needed any more; nil: this one has ended meanwhile, and is removed unless it
    ///   is the first one.
    mutating func opened(_ tunnel: RelayTunnel, isFirst: Bool) -> [RelayTunnel]? {
        guard self.tunnel(tunnel.number)?.progress != .ended else {
            if first != tunnel.number { _ = remove { $0.number == tunnel.number } }
            return nil
        }
        if self.tunnel(tunnel.number)?.progress == .opening { set(tunnel.number, .connected) }
        // A newer pairing of the same host has ended the former one there.
        let replaced = remove { $0.number != tunnel.number && $0.paired.link.isSameService(as: tunnel.paired.link) }
        if let published, replaced.contains(where: { $0.number == published }) { self.published = tunnel.number }
        if isFirst { first = tunnel.number }
        return replaced + prune(but: tunnel.number)
    }

    mutating func publish(over client: ServiceClient) {
        published = tunnels.last { $0.paired.client === client }?.number
    }

    mutating func remove(_ isUnneeded: (RelayTunnel) -> Bool) -> [RelayTunnel] {
        let removed = tunnels.filter(isUnneeded)
        tunnels.removeAll { tunnel in removed.contains { $0.number == tunnel.number } }
        return removed
    }

    /// Removes all but the first one, that of the publication, and the newest one while the first one is away.
    /// - Parameter new: the publication is about to go there.
    mutating func prune(but new: Int? = nil) -> [RelayTunnel] {
        var kept = [first, published, new]
        if lostFirst != nil { kept.append(tunnels.last { $0.progress == .connected }?.number) }
        return remove { $0.progress != .opening && !kept.contains($0.number) }
    }

    mutating func noteEnd(of tunnel: RelayTunnel, now: ContinuousClock.Instant) {
        if now - tunnel.since >= Self.stableTime { renewalDelay = Self.shortestDelay }
    }

    mutating func nextDelay() -> Duration {
        defer { renewalDelay = min(renewalDelay * 2, Self.longestDelay) }
        return renewalDelay
    }
}

extension ServiceLink {
    /// Whether it leads to the same service, perhaps by another address.
    func isSameService(as other: ServiceLink) -> Bool { fingerprint == other.fingerprint && id == other.id }
}
