import HTTP
import LinuxRuntime
import PeerConnection
import Signaling
import Synchronization

/// Resolves and checks the STUN and TURN servers of a host, and warns of those that do not work. Safe from any thread.
final class ICEServerMonitor: Sendable {
    private let preparation: ICEServerPreparation
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let isStopped = Monitor(false)
    /// What was said of the servers' names.
    private let problems = Mutex<Set<String>>([])
    /// A relay or service may name other servers each time.
    private static let problemLimit = 256
    /// When the servers were last checked.
    private let lastCheck = Mutex<ContinuousClock.Instant?>(nil)

    /// Connections of a host for each of its viewers.
    private static let attempts = 256

    /// - Parameters:
    ///   - own: those of this host's user.
    ///   - granted: those of the relay or service that it is paired with.
    init(_ own: [ICEServer], granted: GrantedServers, emit: @escaping @Sendable (BroadcastEvent) -> Void) {
        preparation = ICEServerPreparation(own, granted: granted, attempts: ConnectionAttempts(burst: Self.attempts))
        self.emit = emit
    }

    /// The servers in the form for viewers.
    var servers: [ICEServer] { preparation.servers }

    /// Uses other servers, or other credentials, from now on.
    func use(_ own: [ICEServer], granted: GrantedServers) { preparation.use(own, granted: granted) }

    /// Resolves the servers' names, and warns of those without an address, once.
    /// - Returns: nil if there are no servers.
    func lookUp() async -> ICEServerPreparation.Addresses? {
        guard !servers.isEmpty else { return nil }
        let addresses = await preparation.addresses()
        for problem in addresses.problems
        where problems.withLock({ $0.count < Self.problemLimit && $0.insert(problem).inserted }) {
            emit(.notice(.machine(.serverUnused(reason: problem))))
        }
        return addresses
    }

    /// Checks the servers after an event that a failed server may have caused.
    func check(after event: BroadcastEvent) {
        switch event {
        case .interrupted: check()
        case .viewerLeft(_, let reason, _) where reason.code == .connectionLost || reason.code == .noRoute: check()
        default: break
        }
    }

    /// Checks the servers and warns of those that do not work. Does nothing within 10 s of the last check.
    func check() {
        let now = ContinuousClock.now
        let isDue = lastCheck.withLock { last in
            if let last, now - last < .seconds(10) { return false }
            last = now
            return true
        }
        guard isDue, !servers.isEmpty else { return }
        Task { [preparation, emit, isStopped] in
            for (url, finding) in await preparation.findings() where !finding.isGood && !isStopped.with({ $0 }) {
                emit(.notice(.machine(.serverFailed(url: url, finding))))
            }
        }
    }

    /// Suppresses further warnings.
    func stop() { isStopped.with { $0 = true } }

    /// Closes the preparation.
    func close() async { await preparation.close() }
}
