import CPulse
import MediaCore

/// The connection to the server, and its events.
extension PulseCapture {
    /// The longest time between two attempts to reach a server that has gone, in microseconds.
    private static let longestPause: UInt64 = 5_000_000

    /// - Returns: why the capture could not start; nil if it did.
    func connect(_ loop: OpaquePointer) -> SourceFailure? {
        guard pa_threaded_mainloop_start(loop) >= 0 else { return Self.noServer("its thread did not start") }
        pa_threaded_mainloop_lock(loop)
        defer { pa_threaded_mainloop_unlock(loop) }
        openContext(loop)
        if let context, !startup.isDone {
            startup.deadline = pa_context_rttime_new(
                context, pa_rtclock_now() + 5_000_000,
                { _, _, _, me in PulseCapture.from(me)?.connectionLost("it did not answer for 5 seconds") }, me)
        }
        while !startup.isDone, startup.failure == nil { pa_threaded_mainloop_wait(loop) }
        cancel(&startup.deadline)
        startup.isUnderway = false
        return startup.failure
    }

    private func openContext(_ loop: OpaquePointer) {
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_APPLICATION_NAME, "share")
        pa_proplist_sets(properties, PA_PROP_APPLICATION_ID, "share")
        guard
            let context = pa_context_new_with_proplist(pa_threaded_mainloop_get_api(loop), "share", properties)
        else { return fail(Self.noServer("out of memory")) }
        self.context = context
        pa_context_set_state_callback(context, { _, me in PulseCapture.from(me)?.contextChanged() }, me)
        pa_context_set_subscribe_callback(context, { _, _, _, me in PulseCapture.from(me)?.refresh() }, me)
        if pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 { connectionLost(lastError) }
    }

    private func contextChanged() {
        guard let context else { return }
        switch pa_context_get_state(context) {
        case PA_CONTEXT_READY:
            recording.retries = 0
            let events =
                target.isMicrophone
                ? PA_SUBSCRIPTION_MASK_SERVER.rawValue | PA_SUBSCRIPTION_MASK_SOURCE.rawValue
                : PA_SUBSCRIPTION_MASK_SERVER.rawValue | PA_SUBSCRIPTION_MASK_SINK.rawValue
                    | PA_SUBSCRIPTION_MASK_SINK_INPUT.rawValue
            release(pa_context_subscribe(context, pa_subscription_mask_t(rawValue: events), nil, nil))
            refresh()
        case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED: connectionLost(lastError)
        default: break
        }
    }

    private func connectionLost(_ reason: String) {
        // Called twice for one loss: by the state callback, and after `pa_context_connect`.
        guard let context, recording.retryTimer == nil else { return }
        cancel(&startup.deadline)
        closeStreams()
        query?.cancel()
        let hasRun = startup.isDone && !recording.isInterrupted
        if pa_context_errno(context) == Int32(PA_ERR_ACCESS.rawValue) {
            fail(
                SourceFailure(
                    .notPermitted, "The sound server refuses this program.",
                    remedy: "Check the cookie in ~/.config/pulse, or run share as the person who is logged in."))
        } else if hasRun {
            fail(
                SourceFailure(
                    .deviceGone, "The sound server is gone: \(reason).",
                    remedy: isPersistent
                        ? "The sound is shared again when it is back."
                        : "Start it again, then share the sound again."))
        } else {
            fail(Self.noServer(reason))
        }
        if isPersistent { scheduleRetry() }
    }

    /// Asks again later, as nothing tells when a server or a busy device is back.
    func scheduleRetry() {
        guard let context, recording.retryTimer == nil else { return }
        let pause = min(1_000_000 << UInt64(min(recording.retries, 3)), Self.longestPause)
        recording.retries += 1
        // The timer of a failed connection works as long as its context exists.
        recording.retryTimer = pa_context_rttime_new(
            context, pa_rtclock_now() + pause, { _, _, _, me in PulseCapture.from(me)?.retry() }, me)
    }

    private func retry() {
        cancel(&recording.retryTimer)
        guard recipient != nil, let context, let loop else { return }
        recording.failures = [:]
        if pa_context_get_state(context) == PA_CONTEXT_READY { return refresh() }
        closeContext()
        openContext(loop)
    }

    /// Asks the server what there is, then calls `apply`.
    func refresh() {
        guard let context, pa_context_get_state(context) == PA_CONTEXT_READY else { return }
        query?.run(context)
    }

    var lastError: String { context.map { String(cString: pa_strerror(pa_context_errno($0))) } ?? "no connection" }

    static func noServer(_ reason: String) -> SourceFailure {
        SourceFailure(
            .noAudioServer, "No sound can be recorded: the sound server did not answer (\(reason)).",
            remedy: "Start PulseAudio or PipeWire (pipewire-pulse), or set PULSE_SERVER.")
    }

    func closeContext() {
        cancel(&startup.deadline)
        cancel(&recording.retryTimer)
        query?.cancel()
        guard let context else { return }
        pa_context_set_state_callback(context, nil, nil)
        pa_context_set_subscribe_callback(context, nil, nil)
        pa_context_disconnect(context)
        pa_context_unref(context)
        self.context = nil
    }
}
