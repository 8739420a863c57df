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
    /// The rights that each viewer begins with. With `yes`, who asks to control does so without a question, as long as
    /// no other viewer does.
    public var rights: ViewerRights
    /// Asks the host's user about a right; nil: nobody answered. The task is cancelled when the answer is not needed
    /// any more. Called for several at a time.
    public var decide: @Sendable (RightRequest) async -> Bool?
    /// What viewers control; nil: nothing, whatever their rights are.
    public var control: ControlTarget?
    /// Shows viewers' pointers where the host's user sees them. Called from any thread.
    public var showPointers: (@Sendable (PointerEvents) -> Void)?

    public init(rights: ViewerRights, decide: @escaping @Sendable (RightRequest) async -> Bool?) {
        (self.rights, self.decide) = (rights, decide)
    }

    /// Whether viewers can have this right at all.
    func takes(_ right: ViewerRight) -> Bool {
        switch right {
        case .comment, .point: true
        case .control: control != nil
        }
    }
}

/// What viewers of this host say, and what they may do beside watching. Safe from any thread.
///
/// `ViewerMessageState` decides, and this type carries its decisions out.
final class ViewerMessages: Sendable {
    struct State {
        var rules: ViewerMessageState
        /// The sessions of each viewer, by its certificate.
        var sessions: [[UInt8]: Set<SessionID>] = [:]
        var viewers: [SessionID: Viewer] = [:]
        /// Those that ask the host's user.
        var questions: [ViewerMessageState.Question: Task<Void, Never>] = [:]
        /// Pointers that are not told yet; nil: none was told a moment ago.
        var pointers: PointerEvents?
        /// Looks for the silence of the viewer that controls.
        var watch: Task<Void, Never>?
    }

    let state: Monitor<State>
    let policy: MessagePolicy
    let emit: @Sendable (BroadcastEvent) -> Void
    let served: Monitor<BroadcastResource?>
    /// Whether the frame that a viewer of these sessions aims at is not shown any more since a second.
    private let isOutdated: @Sendable (AimedInput, Set<SessionID>) async -> Bool

    /// - Parameter served: tells the viewers.
    init(
        _ policy: MessagePolicy, served: Monitor<BroadcastResource?>,
        isOutdated: @escaping @Sendable (AimedInput, Set<SessionID>) async -> Bool,
        emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) {
        var policy = policy
        for right in ViewerRight.allCases where !policy.takes(right) { policy.rights[right] = .no }
        state = Monitor(State(rules: ViewerMessageState(defaults: policy.rights, now: MonotonicClock.now)))
        (self.served, self.policy, self.isOutdated, self.emit) = (served, policy, isOutdated, emit)
    }

    // MARK: Who watches

    func opened(_ session: SessionID, _ viewer: Viewer) {
        guard viewer.knock != nil else { return }
        let granted = state.with { state in
            state.sessions[viewer.fingerprint, default: []].insert(session)
            state.viewers[session] = viewer
            state.rules.arrive(viewer.fingerprint, now: MonotonicClock.now)
            return state.rules.granted(viewer.fingerprint, now: MonotonicClock.now)
        }
        served.with { $0 }?.send(.rights(granted), to: [session])
    }

    func ended(_ session: SessionID) {
        let end: Told? = state.with { state in
            guard let viewer = state.viewers.removeValue(forKey: session) else { return nil }
            state.sessions[viewer.fingerprint]?.remove(session)
            guard state.sessions[viewer.fingerprint]?.isEmpty == true else { return nil }
            return leave(viewer, &state, isForGood: false)
        }
        if let end { tell(end) }
    }

    /// The host's user has removed a viewer.
    func removed(_ viewer: Viewer) { tell(state.with { leave(viewer, &$0, isForGood: true) }) }

    private func leave(_ viewer: Viewer, _ state: inout State, isForGood: Bool) -> Told {
        let told = changing(&state, because: .lost, as: viewer) { rules in
            rules.leave(viewer.fingerprint, isForGood: isForGood, now: MonotonicClock.now)
            return []
        }
        state.sessions[viewer.fingerprint] = nil
        withdrawQuestions(&state)
        return told
    }

    private func withdrawQuestions(_ state: inout State) {
        for (question, task) in state.questions where !state.rules.isOpen(question) {
            task.cancel()
            state.questions[question] = nil
        }
    }

    // MARK: What viewers say

    /// Takes messages in their order, up to the first that is refused.
    func take(_ messages: [ViewerMessage], from viewer: Viewer) async -> MessageRefusal? {
        for message in messages {
            if let refusal = await take(message, from: viewer) { return refusal }
        }
        return nil
    }

    private func take(_ message: ViewerMessage, from viewer: Viewer) async -> MessageRefusal? {
        var isOld = false
        if case .input(let input) = message, input.frame != nil || input.sealed != nil {
            isOld = await isOutdated(input, state.with { $0.sessions[viewer.fingerprint] ?? [] })
        }
        var told: Told?
        let outcome: ViewerMessageState.Outcome = state.with { state in
            guard state.sessions[viewer.fingerprint] != nil else { return .refused(.notWatching) }
            let old = control(of: state)
            let outcome = state.rules.take(
                message, from: viewer.fingerprint, named: viewer.name, isOutdated: isOld, now: MonotonicClock.now)
            switch outcome {
            case .question(let question): state.questions[question] = ask(question, viewer)
            // With the lock, so that what follows the end of a permission is the last.
            case .input(let input): policy.control?.apply(input)
            case .pointer(let gesture, let id): point(gesture, id, viewer, &state)
            case .changed(let changes): told = changed(changes, from: old, because: .released, &state)
            case .comment, .nothing, .refused: break
            }
            return outcome
        }
        if let told { tell(told) }
        switch outcome {
        case .comment(let comment): spread(comment, ViewerDescription(viewer))
        case .refused(let refusal): return refusal
        case .question, .nothing, .input, .pointer, .changed: break
        }
        return nil
    }

    private func ask(_ question: ViewerMessageState.Question, _ viewer: Viewer) -> Task<Void, Never> {
        let request = RightRequest(viewer: ViewerDescription(viewer), right: question.right)
        return Task { [weak self, policy] in
            let isGranted = await policy.decide(request)
            self?.answered(question, isGranted)
        }
    }

    private func answered(_ question: ViewerMessageState.Question, _ isGranted: Bool?) {
        let now = MonotonicClock.now
        let (told, granted, sessions) = state.with { state in
            state.questions[question] = nil
            let told = changing(&state, because: .passedOn) { $0.answer(question, isGranted, now: now) }
            let sessions = state.sessions[question.viewer] ?? []
            return (told, sessions.isEmpty ? nil : state.rules.granted(question.viewer, now: now), sessions)
        }
        tell(told)
        // Also after a no, which the viewer waits for.
        if told.isEmpty, let granted { served.with { $0 }?.send(.rights(granted), to: Array(sessions)) }
    }

    // MARK: What the host's user does

    /// - Returns: false if nothing of the text is visible.
    func say(_ text: String) -> Bool {
        guard let comment = BroadcastComment(from: nil, text) else { return false }
        spread(comment, nil)
        return true
    }

    /// - Returns: nil if there is no such session, or its viewer can have no such right; whether something changed.
    func set(_ right: ViewerRight, to value: RightState, of session: SessionID) -> Bool? {
        guard value == .no || policy.takes(right) else { return nil }
        let told: Told? = state.with { state in
            guard let viewer = state.viewers[session] else { return nil }
            let end: ControlEnd = value == .yes ? .passedOn : .takenBack
            let told = changing(&state, because: end) {
                $0.set(right, to: value, of: viewer.fingerprint, now: MonotonicClock.now)
            }
            withdrawQuestions(&state)
            return told
        }
        guard let told else { return nil }
        tell(told)
        return !told.isEmpty
    }

    /// Nil for one that has none, as a player with the fixed token.
    func rights(of session: SessionID) -> ViewerRights? {
        state.with { state in state.viewers[session].map { state.rules.rights(of: $0.fingerprint) } }
    }

    private func spread(_ comment: BroadcastComment, _ viewer: ViewerDescription?) {
        served.with { $0 }?.send(.comment(comment))
        emit(.comment(comment, viewer))
    }
}
