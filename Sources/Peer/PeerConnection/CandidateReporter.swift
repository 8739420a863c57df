package import EventLoop
import LinuxRuntime
package import MediaCore
package import PeerEngine
package import SessionDescription

/// Runs `CandidateGathering` for a path, with a timer. Gatherings follow each other. Confined to the network loop.
package final class CandidateReporter: LocalCandidateDelegate {
    private let batchInterval: MediaDuration
    private let repeatsTrickled: Bool
    private var gathering: CandidateGathering
    private let timer: LoopTimer
    private var onDescription: ((CandidateGathering.Batch) -> Void)?
    private var onNext: ((CandidateGathering.Batch?) -> Void)?

    /// How long gathering takes where the other side has named servers.
    private static let gatheringTime = MediaDuration.seconds(3)

    /// - Parameters: of each gathering (`CandidateGathering`).
    package init(loop: EventLoop, batchInterval: MediaDuration = .zero, repeatsTrickled: Bool = false) {
        self.batchInterval = batchInterval
        self.repeatsTrickled = repeatsTrickled
        gathering = CandidateGathering(batchInterval: batchInterval, repeatsTrickled: repeatsTrickled)
        let box = WeakBox<CandidateReporter>()
        timer = loop.makeTimer { box.value?.handle(.timeout) }
        box.value = self
    }

    /// Prepares for a gathering of the path, the first one or that of a restart. Callbacks that wait for the previous
    /// gathering get the candidates found so far.
    package func begin(_ path: any NegotiatedPath) {
        handle(.cancel)
        gathering = CandidateGathering(
            batchInterval: batchInterval, repeatsTrickled: repeatsTrickled,
            end: path.servers.areGranted ? MonotonicClock.now + Self.gatheringTime : nil)
        timer.set(gathering.deadline)
        path.candidateDelegate = self
    }

    /// Calls back once, each caller; see `CandidateGathering.Input.describe`.
    package func initialCandidates(
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
    package func next(_ body: @escaping (CandidateGathering.Batch?) -> Void) {
        finishNext(nil)
        onNext = body
        handle(.readyForBatch)
    }

    /// Calls back with each batch after the description, up to the last one.
    package func trickle(_ body: @escaping (CandidateGathering.Batch) -> Void) {
        next { [weak self] batch in
            guard let batch else { return }
            body(batch)
            self?.trickle(body)
        }
    }

    /// Ends the gathering. Waiting callbacks get the candidates found so far. May be called more than once.
    package func close() {
        handle(.cancel)
        timer.close()
    }

    package func found(_ candidate: ICECandidate) { handle(.found(candidate)) }

    package func finishedGathering() { handle(.finished) }

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
