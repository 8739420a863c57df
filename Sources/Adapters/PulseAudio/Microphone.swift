import LinuxRuntime
public import MediaCore

/// Captures a microphone or any other source of the PulseAudio server. While it is held it has no stream there.
public final class Microphone: AudioSource {
    private struct State {
        /// Between `start` and `stop`.
        var isRunning = false
        var isHeld = false
        /// The last `isHeld` that the capture was told.
        var applied = false
        /// A thread passes `isHeld` on.
        var isApplying = false
    }

    private let capture: PulseCapture
    private let state = Monitor(State())

    /// - Parameters:
    ///   - source: the name or description of the source; nil is the default source.
    ///   - server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    ///   - isPersistent: whether it waits for a server or device that is missing or has gone (`observe`), instead of
    ///     ending.
    public init(source: String? = nil, server: String? = nil, isPersistent: Bool = false) {
        capture = PulseCapture(.microphone(source), server: server, isPersistent: isPersistent)
    }

    public var summary: String { capture.summary }

    public func observe(_ handler: @escaping @Sendable (AudioSourceChange) -> Void) { capture.onChange = handler }

    /// - Throws: `.noAudioServer`, or `.noSuchDevice` with the names of the existing microphones; never if it is
    ///   persistent.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        capture.setHeld(
            state.with { state in
                state.applied = state.isHeld
                return state.isHeld
            })
        try capture.start(handler: handler, ended: ended)
        change { $0.isRunning = true }
    }

    /// Must not be called from the handler.
    public func stop() {
        state.wait { state in
            state.isRunning = false
            return state.isApplying ? nil : ()
        }
        capture.stop()
    }

    public func setHeld(_ isHeld: Bool) { change { $0.isHeld = isHeld } }

    /// Passes the hold on, on a thread of its own: the sound server's may be waiting for the caller.
    private func change(_ body: (inout State) -> Void) {
        let begins = state.with { state -> Bool in
            body(&state)
            guard state.isRunning, !state.isApplying, state.isHeld != state.applied else { return false }
            state.isApplying = true
            return true
        }
        guard begins else { return }
        if (try? NamedThread.start("microphone") { self.applyHeld() }) == nil { applyHeld() }
    }

    private func applyHeld() {
        while let wanted = next() { capture.setHeld(wanted) }
    }

    private func next() -> Bool? {
        state.change { state in
            guard state.isRunning, state.isHeld != state.applied else {
                state.isApplying = false
                return nil
            }
            state.applied = state.isHeld
            return state.isHeld
        }
    }
}
