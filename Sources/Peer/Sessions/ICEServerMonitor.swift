import ICEServers
import LinuxRuntime
import Publishing
import Transport

/// Looks up the STUN and TURN servers of a host, and warns of those that do not do what they are there for. From any
/// thread.
final class ICEServerMonitor: Sendable {
    private let resolver: ICEServerResolver
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let isStopped = Monitor(false)
    /// When the servers were checked last.
    private let lastCheck = Monitor<ContinuousClock.Instant?>(nil)

    init(_ servers: [ICEServer], emit: @escaping @Sendable (BroadcastEvent) -> Void) {
        resolver = ICEServerResolver(servers)
        self.emit = emit
    }

    /// As given to viewers.
    var servers: [ICEServer] { resolver.servers }

    /// Looks up their names, and warns of those that have no address.
    /// - Returns: nil if there are no servers.
    func lookUp() async -> ICEServerResolver.Addresses? {
        guard !servers.isEmpty else { return nil }
        let addresses = await resolver.addresses()
        for complaint in addresses.complaints { emit(.warning(complaint)) }
        return addresses
    }

    /// A server that has died since is one reason why nothing comes from a viewer.
    func check(after event: BroadcastEvent) {
        switch event {
        case .interrupted: check()
        case .viewerLeft(_, let reason, _) where reason.code == .connectionLost || reason.code == .noRoute: check()
        default: break
        }
    }

    /// Warns of servers that do not do what they are there for; when called again within 10 s, does nothing.
    func check() {
        let now = ContinuousClock.now
        let isDue = lastCheck.with { last in
            if let last, now - last < .seconds(10) { return false }
            last = now
            return true
        }
        guard isDue, !servers.isEmpty else { return }
        Task { [resolver, emit, isStopped] in
            for (url, finding) in await resolver.findings() where !finding.isGood && !isStopped.with({ $0 }) {
                emit(.warning("\(url) \(finding.words): \(finding.remedy)"))
            }
        }
    }

    /// No warnings from now on.
    func stop() { isStopped.with { $0 = true } }

    /// Closes what the servers were looked up with.
    func close() async { await resolver.close() }
}
