import HTTP
import Identity
import Synchronization

/// The state that all routes of a server share. Safe from any thread.
final class SignalingServerState: Sendable {
    let configuration: SignalingServer.Configuration
    let identity: Identity
    let broadcasts: BroadcastTable
    let services: ServiceTable
    let tunnels = TunnelTable()
    /// Nil: nothing is listed.
    let directory: DirectoryTable?
    let connections: ConnectionRegistry
    let counters = SignalingCounters()
    private let slowed = Mutex(0)
    let usedMarks = Mutex(UsedMoveMarks())
    let unfetchedKnocks = Mutex(UnfetchedKnocks())
    /// The script of the page, which follows nothing that this server has not signed.
    let pageScript: String

    init(identity: Identity, configuration: SignalingServer.Configuration) {
        self.configuration = configuration
        self.identity = identity
        pageScript = PageFiles.script(of: identity.fingerprint)
        directory = configuration.directory.map { DirectoryTable($0) }
        broadcasts = BroadcastTable(capacity: configuration.broadcastCapacity)
        services = ServiceTable(capacity: configuration.serviceCapacity)
        connections = ConnectionRegistry(limiter: RequestLimiter(limits: configuration.limits, now: .now)) {
            [counters] event in counters.count(event)
        }
    }

    /// The identity's certificate, if TLS does not show it.
    var certificateToSend: [UInt8]? { configuration.certificate == nil ? nil : identity.certificateDER }

    func count(_ change: @Sendable (inout SignalingStatistics) -> Void) { counters.count(change) }

    /// Delays the response to a wrong proof or token. At most 16 responses are delayed at a time.
    func slowDown() async {
        let mayWait = slowed.withLock { count in
            guard count < 16 else { return false }
            count += 1
            return true
        }
        guard mayWait else { return }
        try? await Task.sleep(for: configuration.failureDelay)
        slowed.withLock { $0 -= 1 }
    }
}
