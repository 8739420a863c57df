import CPulse
import LinuxRuntime
import MediaCore
import Synchronization

/// Records audio from a PulseAudio server on libpulse's thread `audio`.
///
/// - Isolation: `start` and `stop` from any other thread; the rest runs on that thread.
final class PulseCapture: @unchecked Sendable {
    // SAFETY: `summaryText` guards itself. Every other stored property is touched on the thread `audio`, or with the
    // main loop's lock held, which keeps that thread out.

    typealias Handler = @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void

    let target: CaptureTarget
    let server: String?
    private let summaryText: Mutex<String>
    private let corked = Atomic<Bool>(true)
    /// Called on the thread `audio`; set before `start`.
    var onCork: (@Sendable (Bool) -> Void)?

    private var loop: OpaquePointer?
    var context: OpaquePointer?
    var stream: OpaquePointer?
    private var handler: Handler?
    private var ended: (@Sendable (SourceFailure) -> Void)?
    /// While it is set, `start` waits and throws the failure.
    private var isStarting = false
    private(set) var isStarted = false
    private var startFailure: SourceFailure?
    private var startDeadline: OpaquePointer?
    /// The device of the current stream.
    var device: PulseDevice?
    var wantsDevices = RepeatedQuery()
    var wantsInputs = RepeatedQuery()
    /// The results of the running query.
    var found: [PulseDevice] = []
    var defaultName: String?
    var playingInputs = 0
    private var corkTimer: OpaquePointer?
    private var assembler = CaptureAssembler()
    private var bytesSinceTiming = 0
    /// Consecutive streams that failed before they delivered audio.
    private var failuresInARow = 0

    /// Time in microseconds until the stream is corked after the last playing stream ended, which keeps the tail and
    /// bridges short pauses.
    private static let linger: UInt64 = 300_000
    private static let timingInterval = 192_000

    init(_ target: CaptureTarget, server: String?) {
        self.target = target
        self.server = server
        summaryText = Mutex(target.isMonitor ? "what plays on this machine" : "a microphone")
    }

    var summary: String { summaryText.withLock { $0 } }
    var isCorked: Bool { corked.load(ordering: .acquiring) }

    private var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func from(_ context: UnsafeMutableRawPointer?) -> PulseCapture? {
        context.map { Unmanaged<PulseCapture>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Control from other threads

    func start(handler: @escaping Handler, ended: @escaping @Sendable (SourceFailure) -> Void) throws(SourceFailure) {
        precondition(loop == nil, "started twice")
        guard let loop = pa_threaded_mainloop_new() else { throw Self.noServer("out of memory") }
        pa_threaded_mainloop_set_name(loop, "audio")
        self.loop = loop
        self.handler = handler
        self.ended = ended
        startFailure = nil
        isStarting = true
        isStarted = false
        failuresInARow = 0
        device = nil
        wantsDevices = RepeatedQuery()
        wantsInputs = RepeatedQuery()
        // libpulse holds this reference until its thread has ended; `stop` releases it.
        _ = Unmanaged.passRetained(self)
        if let failure = connect(loop) {
            stop()
            throw failure
        }
    }

    func stop() {
        guard let loop else { return }
        precondition(pa_threaded_mainloop_in_thread(loop) == 0, "stop() called from the handler")
        pa_threaded_mainloop_lock(loop)
        closeStream()
        closeContext()
        handler = nil
        ended = nil
        pa_threaded_mainloop_unlock(loop)
        pa_threaded_mainloop_stop(loop)
        pa_threaded_mainloop_free(loop)
        self.loop = nil
        Unmanaged.passUnretained(self).release()
    }

    /// - Returns: why the capture could not start; nil if it did.
    private func connect(_ loop: OpaquePointer) -> SourceFailure? {
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
        startDeadline = pa_context_rttime_new(
            context, pa_rtclock_now() + 5_000_000,
            { _, _, _, me in PulseCapture.from(me)?.fail(PulseCapture.noServer("it did not answer for 5 seconds")) },
            me)
        while !isStarted, startFailure == nil { pa_threaded_mainloop_wait(loop) }
        cancel(&startDeadline)
        isStarting = false
        return startFailure
    }

    // MARK: Connection

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
            if isStarting {
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

    /// Reports a failure once: to `start` while it waits, afterwards to `ended`.
    func fail(_ failure: SourceFailure) {
        if isStarting {
            if startFailure == nil, !isStarted { startFailure = failure }
            if let loop { pa_threaded_mainloop_signal(loop, 0) }
            return
        }
        guard let ended else { return }
        self.ended = nil
        closeStream()
        ended(failure)
    }

    private func succeed() {
        isStarted = true
        if let loop { pa_threaded_mainloop_signal(loop, 0) }
    }

    func release(_ operation: OpaquePointer?) {
        if let operation { pa_operation_unref(operation) }
    }

    private func cancel(_ timer: inout OpaquePointer?) {
        guard let event = timer, let loop else { return }
        pa_threaded_mainloop_get_api(loop).pointee.time_free(event)
        timer = nil
    }

    private func closeContext() {
        cancel(&startDeadline)
        guard let context else { return }
        pa_context_set_state_callback(context, nil, nil)
        pa_context_set_subscribe_callback(context, nil, nil)
        pa_context_disconnect(context)
        pa_context_unref(context)
        self.context = nil
    }

    // MARK: Stream

    /// Opens a stream on the device that was found; nil if there is none at present.
    func use(_ device: PulseDevice?) {
        if device == nil {
            closeStream()
            self.device = nil
            if !isStarted { succeed() }
            return
        }
        guard device != self.device || stream == nil, let device else { return }
        closeStream()
        self.device = device
        summaryText.withLock { $0 = target.isMonitor ? "what plays on \(device.description)" : device.description }
        openStream(device)
    }

    private func openStream(_ device: PulseDevice) {
        var format = pa_sample_spec(
            format: PA_SAMPLE_S16LE, rate: UInt32(AudioFormat.sampleRate), channels: UInt8(AudioFormat.channels))
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_MEDIA_NAME, "share")
        guard let context, let stream = pa_stream_new_with_proplist(context, "share", &format, nil, properties) else {
            return streamFailed()
        }
        self.stream = stream
        pa_stream_set_state_callback(stream, { _, me in PulseCapture.from(me)?.streamChanged() }, me)
        pa_stream_set_read_callback(stream, { _, _, me in PulseCapture.from(me)?.read() }, me)
        var buffer = pa_buffer_attr(
            maxlength: .max, tlength: .max, prebuf: .max, minreq: .max,
            fragsize: UInt32(CaptureAssembler.samplesPerPacket * 2))
        var flags = PA_STREAM_ADJUST_LATENCY.rawValue | PA_STREAM_INTERPOLATE_TIMING.rawValue
        if target.isMonitor { flags |= PA_STREAM_START_CORKED.rawValue | PA_STREAM_DONT_MOVE.rawValue }
        corked.store(target.isMonitor, ordering: .releasing)
        if pa_stream_connect_record(stream, device.name, &buffer, pa_stream_flags_t(rawValue: flags)) < 0 {
            streamFailed()
        }
    }

    private func streamChanged() {
        guard let stream else { return }
        switch pa_stream_get_state(stream) {
        case PA_STREAM_READY:
            updateTiming()
            if target.isMonitor { countInputs() }
            if !isStarted { succeed() }
        case PA_STREAM_FAILED, PA_STREAM_TERMINATED: streamFailed()
        default: break
        }
    }

    private func streamFailed() {
        closeStream()
        let name = device?.description ?? "the device"
        device = nil
        failuresInARow += 1
        guard context.map({ pa_context_get_state($0) }) == PA_CONTEXT_READY else { return }
        if failuresInARow > 3 {
            return fail(SourceFailure(.deviceGone, "\(name) cannot be recorded: \(lastError)."))
        }
        // The default sink or source may have been replaced.
        findDevice()
    }

    func closeStream() {
        cancel(&corkTimer)
        corked.store(true, ordering: .releasing)
        assembler.reset()
        guard let stream else { return }
        self.stream = nil
        pa_stream_set_state_callback(stream, nil, nil)
        pa_stream_set_read_callback(stream, nil, nil)
        pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    /// Uncorks the stream when something plays, and corks it `linger` after nothing does.
    func setPlaying(_ isPlaying: Bool) {
        guard let stream, let context, pa_stream_get_state(stream) == PA_STREAM_READY else { return }
        if isPlaying {
            cancel(&corkTimer)
            guard corked.exchange(false, ordering: .acquiringAndReleasing) else { return }
            release(pa_stream_cork(stream, 0, nil, nil))
            onCork?(false)
            updateTiming()
        } else if !isCorked, corkTimer == nil {
            corkTimer = pa_context_rttime_new(
                context, pa_rtclock_now() + Self.linger, { _, _, _, me in PulseCapture.from(me)?.cork() }, me)
        }
    }

    private func cork() {
        cancel(&corkTimer)
        guard let stream else { return }
        corked.store(true, ordering: .releasing)
        release(pa_stream_cork(stream, 1, nil, nil))
        // Flush what the server still holds; otherwise it would be delivered, out of date, after the next uncork.
        release(pa_stream_flush(stream, nil, nil))
        assembler.reset()
        onCork?(true)
    }

    private func updateTiming() {
        bytesSinceTiming = 0
        if let stream { release(pa_stream_update_timing_info(stream, nil, nil)) }
    }

    private func read() {
        guard let stream else { return }
        var moment = MonotonicClock.now
        var latency = pa_usec_t(0)
        var isNegative = Int32(0)
        if pa_stream_get_latency(stream, &latency, &isNegative) == 0 {
            let nanoseconds = Int64(clamping: latency) &* 1_000
            moment = moment - MediaDuration(nanoseconds: isNegative != 0 ? 0 &- nanoseconds : nanoseconds)
        } else {
            moment = moment - CaptureAssembler.duration(ofSamples: pa_stream_readable_size(stream) / 2)
        }
        var data: UnsafeRawPointer?
        var count = 0
        while self.stream == stream, pa_stream_peek(stream, &data, &count) >= 0, count > 0 {
            if !isCorked, let handler {
                assembler.append(
                    data?.assumingMemoryBound(to: Int16.self), count: count / 2, capturedAt: moment, handler)
            }
            moment = moment + CaptureAssembler.duration(ofSamples: count / 2)
            bytesSinceTiming += count
            failuresInARow = 0
            pa_stream_drop(stream)
        }
        if bytesSinceTiming >= Self.timingInterval { updateTiming() }
    }
}
