import EventLoop
import LinuxRuntime
import MediaCore
package import SessionDescription
import Transport

/// Waits for this side's candidates: for 100 ms before the offer, and then for more of them (trickle ICE, RFC 8838).
/// Confined to the network loop.
package final class CandidateGathering: LocalCandidateDelegate {
    /// What an offer or an ICE restart says of this side.
    package struct Gathered: Sendable {
        /// Nil at the end of the session.
        package var credentials: ICECredentials?
        package var candidates: [ICECandidate]
        package var isComplete: Bool
    }

    /// Candidates that were found later.
    package struct More: Sendable {
        package var candidates: [ICECandidate]
        package var isComplete: Bool
    }

    private static let longestWait = MediaDuration.milliseconds(100)

    private let loop: EventLoop
    private var path: ICEPath?
    private var timer: LoopTimer?
    private var onGathered: (() -> Void)?
    private var onMore: (known: Int, body: (More?) -> Void)?
    private var isClosed = false

    private var candidates: [ICECandidate] { path?.localCandidates ?? [] }
    private var hasGathered: Bool { path?.hasGathered ?? false }

    init(loop: EventLoop) { self.loop = loop }

    /// The path is about to gather, for the first time or for a restart.
    func begin(_ path: ICEPath) {
        self.path = path
        path.candidateDelegate = self
        finishMore(nil)
        timer?.close()
        let box = WeakBox(self)
        timer = loop.makeTimer { box.value?.finish() }
        timer?.set(MonotonicClock.now + Self.longestWait)
    }

    /// Calls back once: at once if there is nothing to wait for; without credentials at the end of the session.
    func whenGathered(_ body: @escaping (Gathered) -> Void) {
        let report = { [weak self] in
            guard let self, !isClosed else {
                return body(Gathered(credentials: nil, candidates: [], isComplete: false))
            }
            body(
                Gathered(
                    credentials: path?.localCredentials, candidates: candidates, isComplete: hasGathered))
        }
        if hasGathered || timer == nil { return report() }
        onGathered = report
    }

    /// Calls back once, when there are more than `known` candidates or there will be no more; nil at the end of the
    /// session.
    func whenMore(than known: Int, _ body: @escaping (More?) -> Void) {
        finishMore(nil)
        guard !isClosed else { return body(nil) }
        onMore = (known, body)
        foundCandidate()
    }

    package func foundCandidate() {
        guard let known = onMore?.known, hasGathered || candidates.count > known else { return }
        finishMore(More(candidates: Array(candidates.dropFirst(known)), isComplete: hasGathered))
    }

    package func finishedGathering() {
        finish()
        foundCandidate()
    }

    /// Twice is fine.
    func close() {
        isClosed = true
        finish()
        finishMore(nil)
        path = nil
    }

    private func finish() {
        timer?.close()
        timer = nil
        let body = onGathered
        onGathered = nil
        body?()
    }

    private func finishMore(_ more: More?) {
        let body = onMore?.body
        onMore = nil
        body?(more)
    }
}

extension LoopBound<ViewerSession> {
    package func more(than known: Int) async -> CandidateGathering.More? {
        await withCheckedContinuation { continuation in
            let isRunning = perform { $0.gathering.whenMore(than: known) { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    package func gathered() async -> CandidateGathering.Gathered {
        await withCheckedContinuation { continuation in
            let isRunning = perform { $0.gathering.whenGathered { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: .init(credentials: nil, candidates: [], isComplete: false)) }
        }
    }
}
