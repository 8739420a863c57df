import CPulse
import MediaCore

/// The connection to the server, and its events.
extension PulseCapture {
    /// - Returns: why the capture could not start; nil if it did.
    func connect(_ loop: OpaquePointer) -> SourceFailure? {
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_APPLICATION_NAME, "share")
        pa_proplist_sets(properties, PA_PROP_APPLICATION_ID, "share")
        guard
            let context = pa_context_new_with_proplist(pa_threaded_mainloop_get_api(loop), "share", properties)
        else { return Self.noServer("out of memory") }
        self.context = context
        pa_context_set_state_callback(context, { _, me in PulseCapture.from(me)?.contextChanged() }, me)
        pa_context_set_subscribe_callback(
            context, { _, event, _, me in PulseCapture.from(me)?.serverChanged(event) }, me)
        guard pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) >= 0 else {
            return Self.noServer(lastError)
        }
        guard pa_threaded_mainloop_start(loop) >= 0 else { return Self.noServer("its thread did not start") }
        pa_threaded_mainloop_lock(loop)
        defer { pa_threaded_mainloop_unlock(loop) }
        startup.deadline = pa_context_rttime_new(
            context, pa_rtclock_now() + 5_000_000,
            { _, _, _, me in PulseCapture.from(me)?.fail(PulseCapture.noServer("it did not answer for 5 seconds")) },
            me)
        while !startup.isDone, startup.failure == nil { pa_threaded_mainloop_wait(loop) }
        cancel(&startup.deadline)
        startup.isUnderway = false
        return startup.failure
    }

    private func contextChanged() {
        guard let context else { return }
        switch pa_context_get_state(context) {
        case PA_CONTEXT_READY:
            let events =
                target.isMonitor
                ? PA_SUBSCRIPTION_MASK_SERVER.rawValue | PA_SUBSCRIPTION_MASK_SINK.rawValue
                    | PA_SUBSCRIPTION_MASK_SINK_INPUT.rawValue
                : PA_SUBSCRIPTION_MASK_SERVER.rawValue | PA_SUBSCRIPTION_MASK_SOURCE.rawValue
            release(pa_context_subscribe(context, pa_subscription_mask_t(rawValue: events), nil, nil))
            findDevice()
        case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED:
            if startup.isUnderway {
                fail(
                    pa_context_errno(context) == Int32(PA_ERR_ACCESS.rawValue)
                        ? SourceFailure(
                            .notPermitted, "The sound server refuses this program.",
                            remedy: "Check the cookie in ~/.config/pulse, or run share as the person who is logged in.")
                        : Self.noServer(lastError))
            } else {
                fail(
                    SourceFailure(
                        .deviceGone, "The sound server is gone: \(lastError).",
                        remedy: "Start it again, then share the sound again."))
            }
        default: break
        }
    }

    private func serverChanged(_ event: pa_subscription_event_type_t) {
        let facility = event.rawValue & PA_SUBSCRIPTION_EVENT_FACILITY_MASK.rawValue
        if facility == PA_SUBSCRIPTION_EVENT_SINK_INPUT.rawValue {
            countInputs()
        } else if facility == PA_SUBSCRIPTION_EVENT_SERVER.rawValue {
            findDevice()
        } else if device == nil {
            // A sink or source was added while there was none.
            findDevice()
        }
    }

    var lastError: String { context.map { String(cString: pa_strerror(pa_context_errno($0))) } ?? "no connection" }

    static func noServer(_ reason: String) -> SourceFailure {
        SourceFailure(
            .noAudioServer, "No sound can be recorded: the sound server did not answer (\(reason)).",
            remedy: "Start PulseAudio or PipeWire (pipewire-pulse), or set PULSE_SERVER.")
    }

    func closeContext() {
        cancel(&startup.deadline)
        guard let context else { return }
        pa_context_set_state_callback(context, nil, nil)
        pa_context_set_subscribe_callback(context, nil, nil)
        pa_context_disconnect(context)
        pa_context_unref(context)
        self.context = nil
    }
}
