import Admission
import Identifiers
import LinuxRuntime
public import MediaCore
import PeerEngine
import Signaling

/// A viewer's wish, about which the host's user is asked.
public struct RightRequest: Sendable {
    public let viewer: ViewerDescription
    public let right: ViewerRight
}

/// What viewers may say.
public struct MessagePolicy: Sendable {
    /// The rights that each viewer begins with.
    public var rights: ViewerRights
    /// Asks the host's user about a right; nil: nobody answered. The task is cancelled when the answer is not needed any
    /// more. Called for several at a time.
    public var decide: @Sendable (RightRequest) async -> Bool?

    public init(rights: ViewerRights, decide: @escaping @Sendable (RightRequest) async -> Bool?) {
        (self.rights, self.decide) = (rights, decide)
    }
}

/// What viewers of this host say, and what they may do beside watching. Safe from any thread.
///
/// `ViewerMessageState` decides, and this type carries its decisions out.
final class ViewerMessages: Sendable {
    private struct State {
        var rules: ViewerMessageState
        /// The sessions of each viewer, by its certificate.
        var sessions: [[UInt8]: Set<SessionID>] = [:]
        var viewers: [SessionID: Viewer] = [:]
        /// Those that ask the host's user.
        var questions: [ViewerMessageState.Question: Task<Void, Never>] = [:]
    }

    private let state: Monitor<State>
    private let decide: @Sendable (RightRequest) async -> Bool?
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let served: Monitor<BroadcastHandle?>

    /// - Parameter served: tells the viewers.
    init(
        _ policy: MessagePolicy, served: Monitor<BroadcastHandle?>, emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) {
        state = Monitor(State(rules: ViewerMessageState(defaults: policy.rights, now: MonotonicClock.now)))
        (self.served, decide, self.emit) = (served, policy.decide, emit)
    }

    // MARK: Who watches

    func opened(_ session: SessionID, _ viewer: Viewer) {
        guard viewer.knock != nil else { return }
        let rights = state.with { state in
            state.sessions[viewer.fingerprint, default: []].insert(session)
            state.viewers[session] = viewer
            state.rules.arrive(viewer.fingerprint, now: MonotonicClock.now)
            return state.rules.rights(of: viewer.fingerprint)
        }
        tell(rights, [session])
    }

    func ended(_ session: SessionID) {
        state.with { state in
            guard let viewer = state.viewers.removeValue(forKey: session) else { return }
            state.sessions[viewer.fingerprint]?.remove(session)
            if state.sessions[viewer.fingerprint]?.isEmpty == true { leave(viewer, &state, isForGood: false) }
        }
    }

    /// The host's user has removed a viewer.
    func removed(_ viewer: Viewer) { state.with { leave(viewer, &$0, isForGood: true) } }

    private func leave(_ viewer: Viewer, _ state: inout State, isForGood: Bool) {
        state.sessions[viewer.fingerprint] = nil
        state.rules.leave(viewer.fingerprint, isForGood: isForGood, now: MonotonicClock.now)
        withdrawQuestions(&state)
    }

    private func withdrawQuestions(_ state: inout State) {
        for (question, task) in state.questions where !state.rules.isOpen(question) {
            task.cancel()
            state.questions[question] = nil
        }
    }

    // MARK: What viewers say

    /// Takes messages in their order, up to the first that is refused.
    func take(_ messages: [ViewerMessage], from viewer: Viewer) -> MessageRefusal? {
        for message in messages {
            if let refusal = take(message, from: viewer) { return refusal }
        }
        return nil
    }

    private func take(_ message: ViewerMessage, from viewer: Viewer) -> MessageRefusal? {
        let outcome: ViewerMessageState.Outcome = state.with { state in
            guard state.sessions[viewer.fingerprint] != nil else { return .refused(.notWatching) }
            let outcome = state.rules.take(
                message, from: viewer.fingerprint, named: viewer.name, now: MonotonicClock.now)
            if case .question(let question) = outcome { state.questions[question] = ask(question, viewer) }
            return outcome
        }
        switch outcome {
        case .comment(let comment): spread(comment, ViewerDescription(viewer))
        case .question, .nothing: break
        case .refused(let refusal): return refusal
        }
        return nil
    }

    private func ask(_ question: ViewerMessageState.Question, _ viewer: Viewer) -> Task<Void, Never> {
        let request = RightRequest(viewer: ViewerDescription(viewer), right: question.right)
        return Task { [weak self, decide] in
            let isGranted = await decide(request)
            self?.answered(question, isGranted, viewer)
        }
    }

    private func answered(_ question: ViewerMessageState.Question, _ isGranted: Bool?, _ viewer: Viewer) {
        let (rights, sessions) = state.with { state in
            state.questions[question] = nil
            let rights = state.rules.answer(question, isGranted, now: MonotonicClock.now)
            return (rights ?? state.rules.rights(of: question.viewer), state.sessions[question.viewer] ?? [])
        }
        // Also after a no, which the viewer waits for.
        tell(rights, sessions)
        if isGranted == true { emit(.rightsChanged(ViewerDescription(viewer), rights)) }
    }

    // MARK: What the host's user does

    /// - Returns: false if nothing of the text is visible.
    func say(_ text: String) -> Bool {
        guard let comment = BroadcastComment(from: nil, text) else { return false }
        spread(comment, nil)
        return true
    }

    /// - Returns: nil if there is no such session, or its viewer has no identity; whether something changed.
    func set(_ right: ViewerRight, to value: RightState, of session: SessionID) -> Bool? {
        let found: (Viewer, ViewerRights?, Set<SessionID>)? = state.with { state in
            guard let viewer = state.viewers[session] else { return nil }
            let rights = state.rules.set(right, to: value, of: viewer.fingerprint, now: MonotonicClock.now)
            withdrawQuestions(&state)
            return (viewer, rights, state.sessions[viewer.fingerprint] ?? [])
        }
        guard let (viewer, rights, sessions) = found else { return nil }
        guard let rights else { return false }
        tell(rights, sessions)
        emit(.rightsChanged(ViewerDescription(viewer), rights))
        return true
    }

    /// Nil for one that has none, as a player with the fixed token.
    func rights(of session: SessionID) -> ViewerRights? {
        state.with { state in state.viewers[session].map { state.rules.rights(of: $0.fingerprint) } }
    }

    private func spread(_ comment: BroadcastComment, _ viewer: ViewerDescription?) {
        served.with { $0 }?.send(.comment(comment))
        emit(.comment(comment, viewer))
    }

    private func tell(_ rights: ViewerRights, _ sessions: Set<SessionID>) {
        served.with { $0 }?.send(rights, of: Array(sessions))
    }
}
