import CPulse
public import MediaCore

/// Plays audio through a PulseAudio server, on libpulse's thread `audio-out`.
///
/// The stream stays connected, so that the server keeps the requested low latency. It is corked after one second of
/// silence and then causes no wake-ups. If the server goes away, audio is dropped, and `play` reconnects at most once a
/// second.
public final class PulseAudioSink: AudioSink, @unchecked Sendable {
    // SAFETY: all stored properties are touched on the thread `audio-out` or with the main loop's lock held; `loop` is
    // set once.

    private static let bytesPerPacket = UInt32(AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels * 2)
    private static let second: UInt64 = 1_000_000

    private let loop: OpaquePointer
    private let server: String?
    private var context: OpaquePointer?
    private var stream: OpaquePointer?
    private var ring = AudioRingBuffer(prefill: 0)
    private let scratch = UnsafeMutablePointer<Int16>.allocate(capacity: AudioRingBuffer.capacity)
    private var watch: OpaquePointer?
    private var isRunning = false
    private var isStarting = true
    private var isClosed = false
    /// The time of the last sample that was not silent, on libpulse's clock.
    private var lastAudible: UInt64 = 0
    private var lastAttempt: UInt64 = 0

    /// Connects to the server; blocks for 5 s at most.
    /// - Parameter server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    /// - Throws: `.noAudioServer`.
    public init(server: String? = nil) throws(SourceFailure) {
        guard let loop = pa_threaded_mainloop_new() else { throw Self.noServer("out of memory") }
        pa_threaded_mainloop_set_name(loop, "audio-out")
        self.loop = loop
        self.server = server
        guard pa_threaded_mainloop_start(loop) >= 0 else { throw Self.noServer("its thread did not start") }
        pa_threaded_mainloop_lock(loop)
        connect()
        armWatch(5 * Self.second)
        while isStarting { pa_threaded_mainloop_wait(loop) }
        let failure = stream == nil ? Self.noServer(lastError) : nil
        pa_threaded_mainloop_unlock(loop)
        // `deinit` runs after a throwing initializer too.
        if let failure { throw failure }
    }

    deinit {
        close()
        pa_threaded_mainloop_free(loop)
        scratch.deallocate()
    }

    /// Appends interleaved samples. The oldest are dropped when more than 200 ms are queued. Silence does not uncork.
    public func play(_ samples: UnsafeBufferPointer<Int16>) {
        pa_threaded_mainloop_lock(loop)
        defer { pa_threaded_mainloop_unlock(loop) }
        guard !isClosed else { return }
        let now = pa_rtclock_now()
        var all = Int16(0)
        for sample in samples { all |= sample }
        if all != 0 {
            lastAudible = now
        } else if !isRunning {
            return
        }
        guard let stream, pa_stream_get_state(stream) == PA_STREAM_READY else {
            if context == nil, now > lastAttempt + Self.second { connect() }
            return
        }
        ring.append(samples)
        if !isRunning {
            isRunning = true
            release(pa_stream_cork(stream, 0, nil, nil))
            armWatch(Self.second)
        }
        pump()
    }

    /// The queued audio plus the latency that the server reports; 40 ms is assumed for the server if it reports none.
    public var latency: MediaDuration {
        pa_threaded_mainloop_lock(loop)
        defer { pa_threaded_mainloop_unlock(loop) }
        let waiting = MediaDuration(
            nanoseconds: Int64(ring.count / AudioFormat.channels) * 1_000_000_000 / Int64(AudioFormat.sampleRate))
        var microseconds = pa_usec_t(0)
        var isNegative = Int32(0)
        guard let stream, isRunning, pa_stream_get_latency(stream, &microseconds, &isNegative) == 0 else {
            return waiting + .milliseconds(40)
        }
        return waiting + .microseconds(isNegative != 0 ? 0 : Int(clamping: microseconds))
    }

    /// Whether nothing is played; the stream then causes no wake-ups.
    public var isCorked: Bool {
        pa_threaded_mainloop_lock(loop)
        defer { pa_threaded_mainloop_unlock(loop) }
        return !isRunning
    }

    /// A second call does nothing. Must not be called from the thread `audio-out`.
    public func close() {
        pa_threaded_mainloop_lock(loop)
        let isFirst = !isClosed
        isClosed = true
        disconnect()
        pa_threaded_mainloop_unlock(loop)
        if isFirst { pa_threaded_mainloop_stop(loop) }
    }

    // MARK: With the main loop's lock held

    private var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> PulseAudioSink? {
        pointer.map { Unmanaged<PulseAudioSink>.fromOpaque($0).takeUnretainedValue() }
    }

    private func connect() {
        lastAttempt = pa_rtclock_now()
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_APPLICATION_NAME, "share")
        pa_proplist_sets(properties, PA_PROP_APPLICATION_ID, "share")
        OwnPlayback.mark(properties)
        context = pa_context_new_with_proplist(pa_threaded_mainloop_get_api(loop), "share", properties)
        guard let context else { return failed() }
        pa_context_set_state_callback(context, { _, me in PulseAudioSink.from(me)?.contextChanged() }, me)
        if pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 { failed() }
    }

    private func contextChanged() {
        guard let context else { return }
        switch pa_context_get_state(context) {
        case PA_CONTEXT_READY: openStream(context)
        case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED: failed()
        default: break
        }
    }

    private func openStream(_ context: OpaquePointer) {
        var format = pa_sample_spec(
            format: PA_SAMPLE_S16LE, rate: UInt32(AudioFormat.sampleRate), channels: UInt8(AudioFormat.channels))
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_MEDIA_NAME, "share")
        OwnPlayback.mark(properties)
        guard let stream = pa_stream_new_with_proplist(context, "share", &format, nil, properties) else {
            return failed()
        }
        self.stream = stream
        pa_stream_set_state_callback(stream, { _, me in PulseAudioSink.from(me)?.streamChanged() }, me)
        pa_stream_set_write_callback(stream, { _, _, me in PulseAudioSink.from(me)?.pump() }, me)
        // Playback starts with two packets, so that one late packet is not audible. The target is four packets, the
        // device's share included.
        var buffer = pa_buffer_attr(
            maxlength: .max, tlength: 4 * Self.bytesPerPacket, prebuf: 2 * Self.bytesPerPacket,
            minreq: Self.bytesPerPacket, fragsize: .max)
        let flags =
            PA_STREAM_ADJUST_LATENCY.rawValue | PA_STREAM_INTERPOLATE_TIMING.rawValue
            | PA_STREAM_START_CORKED.rawValue
        if pa_stream_connect_playback(stream, nil, &buffer, pa_stream_flags_t(rawValue: flags), nil, nil) < 0 {
            failed()
        }
    }

    private func streamChanged() {
        guard let stream else { return }
        switch pa_stream_get_state(stream) {
        case PA_STREAM_READY: started()
        case PA_STREAM_FAILED, PA_STREAM_TERMINATED: failed()
        default: break
        }
    }

    private func started() {
        guard isStarting else { return }
        cancelWatch()
        isStarting = false
        pa_threaded_mainloop_signal(loop, 0)
    }

    private func failed() {
        if isStarting { failureText = lastError }
        disconnect()
        if isStarting { started() }
    }

    /// The error text from before the connection was closed.
    private var failureText: String?

    private var lastError: String {
        failureText ?? context.map { String(cString: pa_strerror(pa_context_errno($0))) } ?? "no connection"
    }

    private static func noServer(_ reason: String) -> SourceFailure {
        SourceFailure(
            .noAudioServer, "No sound can be played: the sound server did not answer (\(reason)).",
            remedy: "Start PulseAudio or PipeWire (pipewire-pulse), set PULSE_SERVER, or go on without sound.")
    }

    private func disconnect() {
        cancelWatch()
        isRunning = false
        ring.clear()
        if let stream {
            self.stream = nil
            pa_stream_set_state_callback(stream, nil, nil)
            pa_stream_set_write_callback(stream, nil, nil)
            pa_stream_disconnect(stream)
            pa_stream_unref(stream)
        }
        if let context {
            self.context = nil
            pa_context_set_state_callback(context, nil, nil)
            pa_context_disconnect(context)
            pa_context_unref(context)
        }
    }

    /// Writes as much as the server has room for.
    private func pump() {
        guard let stream, ring.count > 0 else { return }
        let room = pa_stream_writable_size(stream)
        guard room != Int.max, room > 0 else { return }
        let count = ring.take(
            UnsafeMutableBufferPointer(start: scratch, count: min(room / 4 * 2, AudioRingBuffer.capacity)))
        if count > 0 { pa_stream_write(stream, scratch, count * 2, nil, 0, PA_SEEK_RELATIVE) }
    }

    private func armWatch(_ microseconds: UInt64) {
        cancelWatch()
        guard let context else { return }
        watch = pa_context_rttime_new(
            context, pa_rtclock_now() + microseconds, { _, _, _, me in PulseAudioSink.from(me)?.checkActivity() }, me)
    }

    private func cancelWatch() {
        guard let event = watch else { return }
        pa_threaded_mainloop_get_api(loop).pointee.time_free(event)
        watch = nil
    }

    /// Runs once a second during playback, and when the server did not answer in time.
    private func checkActivity() {
        cancelWatch()
        if isStarting { return failed() }
        guard let stream, isRunning else { return }
        if pa_rtclock_now() > lastAudible + Self.second {
            isRunning = false
            ring.clear()
            release(pa_stream_cork(stream, 1, nil, nil))
            release(pa_stream_flush(stream, nil, nil))
        } else {
            release(pa_stream_update_timing_info(stream, nil, nil))
            armWatch(Self.second)
        }
    }

    private func release(_ operation: OpaquePointer?) {
        if let operation { pa_operation_unref(operation) }
    }
}
