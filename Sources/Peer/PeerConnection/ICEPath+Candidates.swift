package import ICETransport
import LinuxRuntime
package import SessionDescription

/// Receives a path's local candidates, each once, on the network loop.
package protocol LocalCandidateDelegate: AnyObject {
    func found(_ candidate: ICECandidate)
    func finishedGathering()
}

/// The other side's candidates since the last restart, and the number of refused ones since the beginning.
struct RemoteCandidates {
    private(set) var all: [ICECandidate] = []
    /// The number of candidates that are not usable, and of names.
    private(set) var refused = 0
    /// The part of `refused` that could be parsed, but must not be tried.
    private(set) var unusable = 0

    func contains(_ candidate: ICECandidate) -> Bool {
        all.contains { $0.address == candidate.address && $0.port == candidate.port }
    }

    mutating func add(_ candidate: ICECandidate) {
        if all.count < ICEAgent.remoteCandidateLimit { all.append(candidate) }
    }

    mutating func countUnusable() {
        unusable += 1
        refused += 1
    }

    mutating func countRefused(_ count: Int) { refused += count }

    mutating func clear() { all = [] }
}

extension ICEPath {
    /// The number of the other side's candidates that must not be tried.
    package var unusableCandidates: Int { remote.unusable }

    /// Starts to gather candidates. The delegate gets each of them, some before this returns.
    package func gather() throws(ICEFailure) {
        localCandidates = []
        try agents.newest.gather()
    }

    func found(_ candidate: ICECandidate, by number: Int) {
        guard number == agents.newestNumber, !localCandidates.contains(candidate) else { return }
        localCandidates.append(candidate)
        candidateDelegate?.found(candidate)
    }

    func gathered(by number: Int) {
        guard number == agents.newestNumber else { return }
        candidateDelegate?.finishedGathering()
    }

    /// Adds the usable candidates and counts the others. Names are not resolved.
    package func add(_ candidates: CandidateList, ended: Bool) {
        for candidate in candidates.usable { add(candidate) }
        remote.countRefused(candidates.named.count + candidates.dropped)
        if ended { agents.newest.remoteCandidatesEnded() }
    }

    private func add(_ candidate: ICECandidate) {
        if remote.contains(candidate) { return }
        do throws(CandidateRefusal) {
            guard mayTry(candidate) else { throw .unusableAddress }
            try agents.newest.addRemote(candidate)
            remote.add(candidate)
        } catch {
            remote.countUnusable()
        }
    }

    /// Whether connectivity checks may go to a candidate. A proven address does not use up the allowance.
    private func mayTry(_ candidate: ICECandidate) -> Bool {
        guard case .address(let address) = candidate.addressKind, limits.policy.permits(address) else { return false }
        if provenAddresses.contains(address) { return true }
        return limits.allowance?.takeCandidate(now: MonotonicClock.now) ?? true
    }

    /// The candidates of both sides, for the report why there is no connection.
    package var report: ConnectivityReport {
        ConnectivityReport(
            localCandidates: localCandidates.map { .init($0) }, remoteCandidates: remote.all.map { .init($0) },
            refused: remote.refused, hasSelectedPair: hasSelectedPair, usesOnlyRelays: configuration.usesOnlyRelays,
            servers: servers.urls.map { .init(url: $0, finding: nil) })
    }
}
