import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import PeerEngine
import SessionDescription
import Transport

/// What a viewer's offer and its fragments do with the path to it: credentials, candidates and restarts. Confined to
/// the network loop.
final class ICENegotiation {
    let path: ICEPath
    private let candidates: CandidateReporter
    private var remote: ICECredentials?
    private var restarts = ICERestartLimiter()
    /// The last packet to a silent viewer.
    private var probed: MediaInstant?
    private var isClosed = false

    init(loop: EventLoop, path: ICEPath) {
        self.path = path
        // Whoever opens an event stream late sees the last report alone.
        candidates = CandidateReporter(
            loop: loop, CandidateGathering(batchInterval: .milliseconds(20), repeatsTrickled: true))
        candidates.begin(path)
    }

    /// nil when it is closed.
    var localCredentials: ICECredentials? { isClosed ? nil : path.localCredentials }

    func gather() throws(ICEFailure) { try path.gather() }

    /// See ``CandidateReporter/describe(within:wanted:_:)``.
    func whenGathered(
        timeout: MediaDuration, wanted: ICECandidate.Kind?, _ body: @escaping (CandidateGathering.Batch) -> Void
    ) {
        candidates.describe(within: timeout, wanted: wanted, body)
    }

    /// See ``CandidateReporter/trickle(_:)``.
    func trickle(_ body: @escaping (CandidateGathering.Batch) -> Void) { candidates.trickle(body) }

    func begin(remote: ICECredentials, candidates: CandidateList, ended: Bool) {
        self.remote = remote
        path.start(remote: remote)
        add(candidates, ended: ended)
    }

    /// Whether a fragment with these credentials asks for a restart: they are not the current ones.
    func isRestart(_ credentials: ICECredentials) -> Bool { credentials != remote }

    /// Looks for a new way to the viewer (RFC 8445 section 2.4); the old one serves as long as it can. Then ask for
    /// `localCredentials` and `whenGathered`.
    /// - Returns: false if that cannot be done now; all stays as it is.
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

    /// Whether a packet may go to a viewer that is silent, although its address answers checks: one each 100 ms.
    /// Feedback on it comes sooner than the viewer's next report, which may be a second away.
    func takeProbe(now: MediaInstant) -> Bool {
        guard path.hasAnswered(within: .milliseconds(1_500), now: now),
            probed.map({ now - $0 >= .milliseconds(95) }) ?? true
        else { return false }
        probed = now
        return true
    }

    /// Reports no more candidates. The path is closed by its transport.
    func close() {
        isClosed = true
        candidates.close()
    }
}
