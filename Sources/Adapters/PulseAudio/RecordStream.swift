import CPulse
import LinuxRuntime
import MediaCore

/// One record stream of a capture: of a microphone, of a sink's monitor, or of what one playback contributes to it.
///
/// - Isolation: libpulse's thread, or with the main loop's lock held. The capture keeps it until `close`.
final class RecordStream {
    /// Time in microseconds until the stream is corked after nothing plays any more, which keeps the tail and bridges
    /// short pauses.
    private static let linger: UInt64 = 300_000
    private static let timingInterval = 192_000
    /// Of a device; more is an error of its driver.
    private static let longestLatency = MediaDuration.seconds(1)

    let id: Int
    let origin: CapturePlan.Origin
    /// Nil after `close`.
    private weak var capture: PulseCapture?
    private let context: OpaquePointer
    private var stream: OpaquePointer?
    private var chunker = CaptureChunker()
    private(set) var isCorked: Bool
    private var isPlaying: Bool
    /// Runs while nothing plays and the stream is not corked yet.
    private var corkTimer: OpaquePointer?
    private var bytesSinceTiming = 0
    /// How long before its arrival the latest audio was captured; negative for what a monitored sink plays later.
    ///
    /// libpulse's own estimate (`pa_stream_get_latency`) counts the time in which a sink that has rendered ahead
    /// delivers nothing, and then lets capture times pass twice as fast.
    private var deviceLatency = MediaDuration.zero
    private var timingRequest: OpaquePointer?
    private(set) var hasDelivered = false

    private var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> RecordStream? {
        pointer.map { Unmanaged<RecordStream>.fromOpaque($0).takeUnretainedValue() }
    }

    /// - Parameter isCorked: whether it starts corked, until `setPlaying`.
    init(_ id: Int, _ origin: CapturePlan.Origin, of capture: PulseCapture, _ context: OpaquePointer, isCorked: Bool) {
        self.id = id
        self.origin = origin
        self.capture = capture
        self.context = context
        self.isCorked = isCorked
        isPlaying = !isCorked
    }

    /// - Returns: false if the stream cannot be opened; `RecordStream.failed` is reported otherwise.
    func open() -> Bool {
        var format = pa_sample_spec(
            format: PA_SAMPLE_S16LE, rate: UInt32(AudioFormat.sampleRate), channels: UInt8(AudioFormat.channels))
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_MEDIA_NAME, "share")
        guard let stream = pa_stream_new_with_proplist(context, "share", &format, nil, properties) else {
            return false
        }
        self.stream = stream
        pa_stream_set_state_callback(stream, { _, me in RecordStream.from(me)?.stateChanged() }, me)
        pa_stream_set_read_callback(stream, { _, _, me in RecordStream.from(me)?.read() }, me)
        var buffer = pa_buffer_attr(
            maxlength: .max, tlength: .max, prebuf: .max, minreq: .max,
            fragsize: UInt32(CaptureChunker.samplesPerPacket * 2))
        var flags = PA_STREAM_ADJUST_LATENCY.rawValue
        if isCorked { flags |= PA_STREAM_START_CORKED.rawValue | PA_STREAM_DONT_MOVE.rawValue }
        if let playback = origin.playback {
            pa_stream_set_monitor_stream(stream, playback)
            // PipeWire moves a stream whose playback has ended to the whole monitor, even if it must not move.
            pa_stream_set_moved_callback(stream, { _, me in RecordStream.from(me)?.fail() }, me)
        }
        return pa_stream_connect_record(stream, origin.source, &buffer, pa_stream_flags_t(rawValue: flags)) >= 0
    }

    private var isReady: Bool { stream.map { pa_stream_get_state($0) == PA_STREAM_READY } ?? false }

    private func stateChanged() {
        guard let stream else { return }
        switch pa_stream_get_state(stream) {
        case PA_STREAM_READY:
            applyPlaying()
            capture?.streamReady(self)
        case PA_STREAM_FAILED, PA_STREAM_TERMINATED: fail()
        default: break
        }
    }

    private func fail() { capture?.streamFailed(self) }

    /// A second call does nothing.
    func close() {
        capture?.cancel(&corkTimer)
        endTimingRequest()
        capture = nil
        isCorked = true
        guard let stream else { return }
        self.stream = nil
        pa_stream_set_state_callback(stream, nil, nil)
        pa_stream_set_read_callback(stream, nil, nil)
        pa_stream_set_moved_callback(stream, nil, nil)
        pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    /// Uncorks the stream when something plays, and corks it `linger` after nothing does.
    func setPlaying(_ isPlaying: Bool) {
        self.isPlaying = isPlaying
        if isReady { applyPlaying() }
    }

    private func applyPlaying() {
        guard let stream else { return }
        if isPlaying {
            capture?.cancel(&corkTimer)
            guard isCorked else { return }
            isCorked = false
            release(pa_stream_cork(stream, 0, nil, nil))
            capture?.corkChanged(self)
            // Asked for with the first audio.
            deviceLatency = .zero
            bytesSinceTiming = Self.timingInterval
        } else if !isCorked, corkTimer == nil {
            corkTimer = pa_context_rttime_new(
                context, pa_rtclock_now() + Self.linger, { _, _, _, me in RecordStream.from(me)?.cork() }, me)
        }
    }

    private func cork() {
        capture?.cancel(&corkTimer)
        guard let stream else { return }
        isCorked = true
        release(pa_stream_cork(stream, 1, nil, nil))
        // Flush what the server still holds; otherwise it would be delivered, out of date, after the next uncork.
        release(pa_stream_flush(stream, nil, nil))
        chunker.reset()
        capture?.corkChanged(self)
    }

    /// Asks for the device's latency. One request at a time.
    private func updateTiming() {
        bytesSinceTiming = 0
        guard let stream, timingRequest == nil else { return }
        timingRequest = pa_stream_update_timing_info(stream, { _, _, me in RecordStream.from(me)?.takeTiming() }, me)
    }

    private func takeTiming() {
        release(timingRequest)
        timingRequest = nil
        guard let stream, let timing = pa_stream_get_timing_info(stream)?.pointee else { return }
        let latency = (Int64(clamping: timing.source_usec) &- Int64(clamping: timing.sink_usec)) &* 1_000
        guard abs(latency) <= Self.longestLatency.nanoseconds else { return }
        deviceLatency = MediaDuration(nanoseconds: latency)
    }

    private func endTimingRequest() {
        guard let timingRequest else { return }
        self.timingRequest = nil
        pa_operation_cancel(timingRequest)
        pa_operation_unref(timingRequest)
    }

    private func release(_ operation: OpaquePointer?) {
        if let operation { pa_operation_unref(operation) }
    }

    private func read() {
        guard let stream else { return }
        let queued = CaptureChunker.duration(ofSamples: pa_stream_readable_size(stream) / 2)
        var moment = MonotonicClock.now - queued - deviceLatency
        var data: UnsafeRawPointer?
        var count = 0
        while self.stream == stream, pa_stream_peek(stream, &data, &count) >= 0, count > 0 {
            if !isCorked, let capture {
                chunker.append(
                    data?.assumingMemoryBound(to: Int16.self), count: count / 2, capturedAt: moment,
                    skipsSilence: !capture.isMixing
                ) { capture.take($0, $1, from: self) }
            }
            moment = moment + CaptureChunker.duration(ofSamples: count / 2)
            bytesSinceTiming += count
            hasDelivered = true
            pa_stream_drop(stream)
        }
        if bytesSinceTiming >= Self.timingInterval { updateTiming() }
    }
}
