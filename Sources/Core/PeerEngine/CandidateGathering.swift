public import MediaCore
public import SessionDescription

/// Decides when the local candidates of one gathering are handed to signalling (trickle ICE, RFC 8838 sections 4, 9
/// and 13): those of the initial description, later ones in batches, and the end of candidates.
///
/// A description waits until all candidates are gathered, one of a wanted kind is found, or a time is over. Afterwards
/// a batch is handed out each time that signalling is ready for one. An ICE restart begins another gathering.
public struct CandidateGathering: Sendable {
    public enum Input: Sendable {
        /// The ICE agent has found one more.
        case found(ICECandidate)
        /// The ICE agent will find no more.
        case finished
        /// A description is about to be made: an offer, an answer, or the fragment of a restart.
        /// - Parameter wanted: the kind that is not waited past; nil waits for all candidates.
        case describe(within: MediaDuration, wanted: ICECandidate.Kind?)
        /// The description is out, and one batch of later candidates can be taken.
        case readyForBatch
        /// The deadline has passed.
        case timeout
        /// The gathering ends early: the session ends, or ICE restarts.
        case cancel
    }

    public enum Action: Equatable, Sendable {
        /// The candidates for the description.
        case describe(Batch)
        /// A batch of candidates after the description.
        case trickle(Batch)
    }

    public struct Batch: Equatable, Sendable {
        public var candidates: [ICECandidate]
        /// Whether the end of candidates is signalled with this batch.
        public var isComplete: Bool

        public init(candidates: [ICECandidate] = [], isComplete: Bool) {
            self.candidates = candidates
            self.isComplete = isComplete
        }

        /// The batch as the body of a PATCH or of an event.
        public func fragment(_ credentials: ICECredentials, mid: String?) -> TrickleFragment {
            TrickleFragment(
                credentials: credentials, mid: mid, candidates: CandidateList(candidates), endsCandidates: isComplete)
        }
    }

    private enum State {
        case idle
        case describing(wanted: ICECandidate.Kind?)
        case trickling
        case over
    }

    private let batchInterval: MediaDuration
    private let repeatsTrickled: Bool
    private let end: MediaInstant?
    private var state = State.idle
    private var candidates: [ICECandidate] = []
    private var isComplete = false
    /// The number of candidates in the description.
    private var described = 0
    /// The number of candidates handed out in all.
    private var handedOut = 0
    /// When the present wait is over.
    private var due: MediaInstant?
    /// When to call with `.timeout`; nil for never.
    public var deadline: MediaInstant? {
        guard let end, !isComplete, !isOver else { return due }
        return min(end, due ?? end)
    }

    /// - Parameters:
    ///   - batchInterval: a batch is handed out when no candidate was found for this long.
    ///   - repeatsTrickled: each batch has all candidates since the description, for signalling whose receiver may see
    ///     only the last message.
    ///   - end: when the gathering ends, whatever the ICE agent finds; nil: when the agent has finished. Who names
    ///     servers learns from a fixed end nothing of how their ports answer.
    public init(batchInterval: MediaDuration = .zero, repeatsTrickled: Bool = false, end: MediaInstant? = nil) {
        self.end = end
        self.batchInterval = batchInterval
        self.repeatsTrickled = repeatsTrickled
    }

    /// Whether nothing will be handed out any more: the end of candidates was, or the gathering was cancelled.
    public var isOver: Bool { if case .over = state { true } else { false } }

    public mutating func handle(_ input: Input, now: MediaInstant) -> Action? {
        if isOver {
            // Nothing more will be found that a description could wait for.
            guard case .describe = input else { return nil }
            return .describe(Batch(candidates: candidates, isComplete: isComplete))
        }
        switch input {
        case .found(let candidate):
            candidates.append(candidate)
            return found(now)
        case .finished:
            guard end.map({ now >= $0 }) ?? true else { return nil }
            isComplete = true
            return handOut()
        case .describe(let timeout, let wanted):
            state = .describing(wanted: wanted)
            due = now + timeout
            return isComplete || has(wanted) ? handOut() : nil
        case .readyForBatch:
            state = .trickling
            due = nil
            return isComplete || candidates.count > handedOut ? handOut() : nil
        case .timeout:
            guard let deadline, now >= deadline else { return nil }
            if let end, now >= end { isComplete = true }
            return isComplete || due.map({ now >= $0 }) ?? false ? handOut() : nil
        case .cancel:
            defer { state = .over }
            if case .describing = state { return handOut() }
            due = nil
            return nil
        }
    }

    private mutating func found(_ now: MediaInstant) -> Action? {
        switch state {
        case .describing(let wanted): return has(wanted) ? handOut() : nil
        case .trickling where batchInterval == .zero: return handOut()
        case .trickling: due = now + batchInterval
        case .idle, .over: break
        }
        return nil
    }

    private func has(_ wanted: ICECandidate.Kind?) -> Bool {
        guard let wanted else { return false }
        return candidates.contains { $0.kind == wanted }
    }

    /// Hands out the requested candidates, if there was a request.
    private mutating func handOut() -> Action? {
        let action: Action
        switch state {
        case .idle, .over: return nil
        case .describing:
            action = .describe(Batch(candidates: candidates, isComplete: isComplete))
            described = candidates.count
        case .trickling:
            let known = repeatsTrickled ? described : handedOut
            action = .trickle(Batch(candidates: Array(candidates.dropFirst(known)), isComplete: isComplete))
        }
        handedOut = candidates.count
        due = nil
        state = isComplete ? .over : .idle
        return action
    }
}
