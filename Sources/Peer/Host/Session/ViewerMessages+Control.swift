import Admission
import Identifiers
import LinuxRuntime
import MediaCore
import PeerEngine
import Signaling

/// Pointers, and the viewer that controls the screen.
extension ViewerMessages {
    /// What is to be told after a change of rights.
    struct Told {
        var rights: [(viewer: Viewer, granted: GrantedRights, sessions: [SessionID])] = []
        var control: [ControlChange] = []
        /// The name of the viewer that controls now.
        var controller: String?

        var isEmpty: Bool { rights.isEmpty }
    }

    /// The viewer that controls, and how it has used that.
    struct Control {
        var viewer: ViewerMessageState.ViewerKey?
        var number: Int?
        var use = ControlState.Use()
    }

    /// Between two lists of pointers that viewers are told.
    private static let pointerInterval = Duration.milliseconds(33)
    private static let watchInterval = Duration.milliseconds(100)

    // MARK: Pointers

    /// Tells a gesture at once, or with those that come within the next 33 ms.
    func point(_ gesture: PointerGesture, _ id: Int, _ viewer: Viewer, _ state: inout State) {
        guard state.pointers == nil else {
            _ = state.pointers?.add(gesture, of: id, named: viewer.name)
            return
        }
        var events = PointerEvents([])
        _ = events.add(gesture, of: id, named: viewer.name)
        state.pointers = PointerEvents([])
        show(events)
        Task { [weak self] in await self?.flushPointers() }
    }

    private func flushPointers() async {
        while true {
            try? await Task.sleep(for: Self.pointerInterval)
            let events: PointerEvents? = state.with { state in
                defer { state.pointers = state.pointers?.pointers.isEmpty == false ? PointerEvents([]) : nil }
                return state.pointers?.pointers.isEmpty == false ? state.pointers : nil
            }
            guard let events else { return }
            show(events)
        }
    }

    private func show(_ events: PointerEvents) {
        served.with { $0 }?.sendDroppable(.pointers(events))
        policy.showPointers?(events)
    }

    // MARK: Control

    /// The host's user takes the control back.
    /// - Returns: false if nobody has it.
    func takeControlBack(because end: ControlEnd = .takenBack) -> Bool {
        let told = state.with { state in changing(&state, because: end) { $0.endControl() } }
        tell(told)
        return !told.isEmpty
    }

    /// Releases what a viewer holds: it may have released that while it could not say so.
    func releaseAll(of viewer: Viewer) {
        state.with { state in
            if state.rules.control.controller == viewer.fingerprint { policy.control?.releaseAll() }
        }
    }

    /// Drops all input as long as a question is open, and releases what is held.
    func holdControl(_ isHeld: Bool) {
        state.with { state in
            state.rules.holdControl(isHeld)
            if isHeld, state.rules.control.controller != nil { policy.control?.releaseAll() }
        }
    }

    func control(of state: State) -> Control {
        let control = state.rules.control
        return Control(
            viewer: control.controller, number: control.controller.flatMap { control.number(of: $0) }, use: control.use)
    }

    /// Changes rights, and releases what a viewer holds that does not control any more.
    /// - Parameters:
    ///   - end: why one would not control any more.
    ///   - leaving: has no sessions any more.
    func changing(
        _ state: inout State, because end: ControlEnd, as leaving: Viewer? = nil,
        _ change: (inout ViewerMessageState) -> [ViewerMessageState.Change]
    ) -> Told {
        let old = control(of: state)
        let changes = change(&state.rules)
        return changed(changes, from: old, because: end, as: leaving, &state)
    }

    func changed(
        _ changes: [ViewerMessageState.Change], from old: Control, because end: ControlEnd, as leaving: Viewer? = nil,
        _ state: inout State
    ) -> Told {
        func viewer(_ key: ViewerMessageState.ViewerKey) -> Viewer? {
            if let leaving, leaving.fingerprint == key { return leaving }
            return state.sessions[key]?.first.flatMap { state.viewers[$0] }
        }
        var told = Told()
        for change in changes {
            guard let viewer = viewer(change.viewer) else { continue }
            told.rights.append((viewer, change.granted, Array(state.sessions[change.viewer] ?? [])))
        }
        let new = control(of: state)
        guard old.number != new.number else { return told }
        policy.control?.releaseAll()
        if let key = old.viewer, let viewer = viewer(key) {
            told.control.append(
                ControlChange(
                    viewer: ViewerDescription(viewer), end: end, inputs: old.use.passed, dropped: old.use.dropped))
        }
        state.watch?.cancel()
        state.watch = nil
        if let key = new.viewer, let viewer = viewer(key) {
            told.control.append(ControlChange(viewer: ViewerDescription(viewer)))
            told.controller = viewer.name
            state.watch = Task { [weak self] in await self?.watchController() }
        }
        return told
    }

    func tell(_ told: Told) {
        // First, so that who is controlled is ready when the viewer learns that it may.
        for change in told.control { emit(.controlChanged(change)) }
        let served = served.with { $0 }
        for (viewer, granted, sessions) in told.rights {
            served?.send(.rights(granted), to: sessions)
            emit(.rightsChanged(ViewerDescription(viewer), granted.rights))
        }
        if !told.control.isEmpty { served?.send(.controller(ScreenController(by: told.controller))) }
    }

    /// Ends the control of a viewer that is not heard any more.
    private func watchController() async {
        while (try? await Task.sleep(for: Self.watchInterval)) != nil {
            let told = state.with { state in
                changing(&state, because: .lost) { rules in
                    let result = rules.checkControl(now: MonotonicClock.now)
                    if result.releases { policy.control?.releaseAll() }
                    return result.changes
                }
            }
            tell(told)
        }
    }
}
