import EventLoop
import LinuxRuntime
import MediaCore
import PeerEngine
import SessionDescription

/// Runs `CandidateGathering` for a path, with a timer. Gatherings follow each other. Confined to the network loop.
final class CandidateReporter: LocalCandidateDelegate {
    private let repeats: Bool
    private var gathering: CandidateGathering
    private let timer: LoopTimer
    private var onDescription: ((CandidateGathering.Batch) -> Void)?
    private var onNext: ((CandidateGathering.Batch?) -> Void)?

    /// How long gathering takes where the other side has named servers.
    private static let gatheringTime = MediaDuration.seconds(3)

    /// - Parameter repeats: each batch has all candidates since the description, as its receiver may see only the last
    ///   one.
    init(loop: EventLoop, repeats: Bool) {
        self.repeats = repeats
        gathering = Self.gathering(repeats)
        let box = WeakBox<CandidateReporter>()
        timer = loop.makeTimer { box.value?.handle(.timeout) }
        box.value = self
    }

    /// Prepares for a gathering of the path, the first one or that of a restart. Callbacks that wait for the previous
    /// gathering get the candidates found so far.
    func begin(_ path: any NegotiatedPath) {
        handle(.cancel)
        gathering = Self.gathering(
            repeats, end: path.servers.areGranted ? MonotonicClock.now + Self.gatheringTime : nil)
        timer.set(gathering.deadline)
        path.candidateDelegate = self
    }

    private static func gathering(_ repeats: Bool, end: MediaInstant? = nil) -> CandidateGathering {
        CandidateGathering(batchInterval: repeats ? .milliseconds(20) : .zero, repeatsTrickled: repeats, end: end)
    }

    /// Calls back once, each caller; see `CandidateGathering.Input.describe`.
    func initialCandidates(
        within timeout: MediaDuration, wanted: ICECandidate.Kind?,
        _ body: @escaping (CandidateGathering.Batch) -> Void
    ) {
        onDescription = { [waiting = onDescription] batch in
            waiting?(batch)
            body(batch)
        }
        handle(.describe(within: timeout, wanted: wanted))
    }

    /// Calls back once with the next batch of candidates after the description; with nil if no more will come.
    func next(_ body: @escaping (CandidateGathering.Batch?) -> Void) {
        finishNext(nil)
        onNext = body
        handle(.readyForBatch)
    }

    /// Calls back with each batch after the description, up to the last one.
    func trickle(_ body: @escaping (CandidateGathering.Batch) -> Void) {
        next { [weak self] batch in
            guard let batch else { return }
            body(batch)
            self?.trickle(body)
        }
    }

    /// Ends the gathering. Waiting callbacks get the candidates found so far. May be called more than once.
    func close() {
        handle(.cancel)
        timer.close()
    }

    func found(_ candidate: ICECandidate) { handle(.found(candidate)) }

    func finishedGathering() { handle(.finished) }

    private func handle(_ input: CandidateGathering.Input) {
        let action = gathering.handle(input, now: MonotonicClock.now)
        timer.set(gathering.deadline)
        switch action {
        case .describe(let batch):
            let body = onDescription
            onDescription = nil
            body?(batch)
        case .trickle(let batch): finishNext(batch)
        case nil: break
        }
        if gathering.isOver { finishNext(nil) }
    }

    private func finishNext(_ batch: CandidateGathering.Batch?) {
        let body = onNext
        onNext = nil
        body?(batch)
    }
}
