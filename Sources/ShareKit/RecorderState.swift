internal import LinuxRuntime
import Synchronization

/// What a recorder and the threads of its capture share: whether one runs, and what the user has allowed.
final class RecorderState: Sendable {
    private enum Phase {
        case idle
        /// The user is asked.
        case asking
        /// The user has allowed the capture, and its threads start.
        case starting
        case running(any RunningCapture)
        /// It takes no further samples, and its threads end.
        case ending(any RunningCapture)
    }

    private struct State {
        var phase = Phase.idle
        var visible = ScreenRecorder.State()
        var isStopRequested = false
        var hasConsent = false
        var hasMicrophoneConsent = false
        var hasCameraConsent = false
        /// Calls of `stopCapture` that came while threads started.
        var stops: [CheckedContinuation<Void, Never>] = []

        /// Why a capture that starts must end.
        var refusal: ShareKitError? {
            if !visible.isAvailable { return .systemBroadcast }
            return isStopRequested ? ShareKitError(.interrupted, "the capture was stopped before it began") : nil
        }
    }

    private let state = Mutex(State())
    let changes = StateChanges(ScreenRecorder.State())

    var current: ScreenRecorder.State { state.withLock { $0.visible } }

    /// The capture that runs.
    var capture: (any RunningCapture)? {
        state.withLock { state in
            if case .running(let capture) = state.phase { capture } else { nil }
        }
    }

    func update(_ body: (inout ScreenRecorder.State) -> Void) {
        state.withLock { body(&$0.visible) }
        report()
    }

    private func report() { changes.update { current } }

    // MARK: The life of a capture

    /// Reserves the source for a capture.
    /// - Returns: why there can be none now.
    func begin(_ source: ApplicationSource) -> ShareKitError? {
        defer { report() }
        return state.withLock { state in
            guard state.visible.isAvailable else { return .systemBroadcast }
            guard case .idle = state.phase, source.claim() else {
                return ShareKitError(.alreadyStarted, "'\(source.name)' is being captured already")
            }
            state.phase = .asking
            state.isStopRequested = false
            state.visible.failure = nil
            return nil
        }
    }

    /// Reserves the start of threads, once the user has allowed the capture.
    /// - Returns: why it must not begin: a stop or a system broadcast came while the user was asked.
    func start() -> ShareKitError? {
        state.withLock { state in
            if let refusal = state.refusal { return refusal }
            state.phase = .starting
            return nil
        }
    }

    /// Takes a capture whose threads run.
    /// - Returns: why it has to end at once.
    func adopt(_ capture: any RunningCapture) -> ShareKitError? {
        defer { report() }
        return state.withLock { state in
            if let refusal = state.refusal { return refusal }
            if capture.isEnded {
                return capture.failure ?? ShareKitError(.failed, "the capture ended at once")
            }
            state.phase = .running(capture)
            state.visible.isRecording = true
            return nil
        }
    }

    /// - Returns: the capture to end, which may be ending already.
    func requestEnd() -> (any RunningCapture)? {
        state.withLock { state in
            switch state.phase {
            case .idle: return nil
            case .asking, .starting:
                state.isStopRequested = true
                return nil
            case .running(let capture), .ending(let capture): return capture
            }
        }
    }

    /// Returns once no threads start: a capture that was stopped meanwhile hands over nothing any more.
    func whileStarting() async {
        await withCheckedContinuation { continuation in
            let isStarting = state.withLock { state in
                guard case .starting = state.phase, state.isStopRequested else { return false }
                state.stops.append(continuation)
                return true
            }
            if !isStarting { continuation.resume() }
        }
    }

    /// What the threads of a capture report.
    func events(_ source: ApplicationSource) -> SampleCapture.Events {
        SampleCapture.Events(
            ended: { self.ending($0) }, over: { self.over(source) },
            microphoneGone: { failure in
                self.update {
                    $0.isMicrophoneEnabled = false
                    $0.failure = failure
                }
            })
    }

    private func ending(_ failure: ShareKitError?) {
        state.withLock { state in
            if case .running(let capture) = state.phase { state.phase = .ending(capture) }
            state.visible.isRecording = false
            if let failure { state.visible.failure = failure }
        }
        report()
    }

    /// Another capture may begin.
    func over(_ source: ApplicationSource) {
        let stops = state.withLock { state in
            // The capture's thread may be here before what ended it is reported.
            if case .running(let capture) = state.phase, let failure = capture.failure {
                state.visible.failure = failure
            }
            state.phase = .idle
            state.visible.isRecording = false
            source.unclaim()
            defer { state.stops = [] }
            return state.stops
        }
        for stop in stops { stop.resume() }
        report()
    }

    /// Ends the capture when a system broadcast begins, which takes precedence; drops what was not handed over.
    func setSystemBroadcastLive(_ isLive: Bool) {
        update { $0.isAvailable = !isLive }
        guard isLive else { return }
        capture?.end(ShareKitError(.interrupted, "a broadcast of the whole screen has begun"), isDiscarding: true)
    }

    // MARK: Consent

    func hasConsent(withMicrophone: Bool, withCamera: Bool) -> Bool {
        state.withLock { state in
            state.hasConsent && (!withMicrophone || state.hasMicrophoneConsent)
                && (!withCamera || state.hasCameraConsent)
        }
    }

    func noteConsent(withMicrophone: Bool, withCamera: Bool) {
        state.withLock { state in
            state.hasConsent = true
            if withMicrophone { state.hasMicrophoneConsent = true }
            if withCamera { state.hasCameraConsent = true }
        }
    }
}

extension ShareKitError {
    fileprivate static let systemBroadcast = ShareKitError(
        .interrupted, "the whole screen is being broadcast", remedy: "Stop that broadcast: share stop.")
}
