import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import PeerConnection
import PeerEngine
import SessionDescription

/// Applies a viewer's offer and its fragments to its ICE path: credentials, candidates and restarts. Confined to the
/// network loop.
final class ICENegotiation {
    let path: any NegotiatedPath
    private let candidates: CandidateReporter
    private var remote: ICECredentials?
    private var restarts = ICERestartLimiter()
    /// When the last packet was sent to a silent viewer.
    private var lastReachabilityPacket: MediaInstant?
    private var isClosed = false

    init(loop: EventLoop, path: any NegotiatedPath) {
        self.path = path
        // A viewer that opens its event stream late gets only the last report.
        candidates = CandidateReporter(
            loop: loop, batchInterval: .milliseconds(20), repeatsTrickled: true)
        candidates.begin(path)
    }

    /// nil after `close`.
    var localCredentials: ICECredentials? { isClosed ? nil : path.localCredentials }

    func gather() throws(ICEFailure) { try path.gather() }

    /// See ``CandidateReporter/initialCandidates(within:wanted:_:)``.
    func initialCandidates(
        within timeout: MediaDuration, wanted: ICECandidate.Kind?, _ body: @escaping (CandidateGathering.Batch) -> Void
    ) {
        candidates.initialCandidates(within: timeout, wanted: wanted, body)
    }

    /// See ``CandidateReporter/trickle(_:)``.
    func trickle(_ body: @escaping (CandidateGathering.Batch) -> Void) { candidates.trickle(body) }

    func begin(remote: ICECredentials, candidates: CandidateList, ended: Bool) {
        self.remote = remote
        path.start(remote: remote)
        add(candidates, ended: ended)
    }

    /// Whether a fragment with these credentials asks for an ICE restart: they differ from the current ones.
    func isRestart(_ credentials: ICECredentials) -> Bool { credentials != remote }

    /// Restarts ICE (RFC 8445 section 2.4). The old pair is used until the new one is selected. Afterwards call
    /// `localCredentials` and `initialCandidates`.
    /// - Returns: false if a restart is not possible now; nothing has then changed.
    func restart() -> Bool {
        let now = MonotonicClock.now
        guard !isClosed, restarts.allows(hasProvenPair: path.hasProvenPair, now: now) else { return false }
        do throws(ICEFailure) {
            try path.restart()
        } catch {
            return false
        }
        restarts.noteRestart(now: now)
        candidates.begin(path)
        do throws(ICEFailure) {
            try path.gather()
            return true
        } catch {
            return false
        }
    }

    func add(_ candidates: CandidateList, ended: Bool) {
        path.add(candidates, ended: ended)
    }

    /// Whether a packet may be sent to a silent viewer whose address answers checks: one each 100 ms. The viewer's
    /// feedback on it arrives sooner than its next report, which may be a second away.
    func takeReachabilityPacket(now: MediaInstant) -> Bool {
        guard path.hasAnswered(within: .milliseconds(1_500), now: now),
            lastReachabilityPacket.map({ now - $0 >= .milliseconds(95) }) ?? true
        else { return false }
        lastReachabilityPacket = now
        return true
    }

    /// Stops reporting candidates. The path is closed by its transport.
    func close() {
        isClosed = true
        candidates.close()
    }
}
