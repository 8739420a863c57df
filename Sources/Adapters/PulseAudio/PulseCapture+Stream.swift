import CPulse
import LinuxRuntime
import MediaCore
import Synchronization

/// The stream that records the device.
extension PulseCapture {
    /// Time in microseconds until the stream is corked after the last playing stream ended, which keeps the tail and
    /// bridges short pauses.
    private static let linger: UInt64 = 300_000
    private static let timingInterval = 192_000

    /// Opens a stream on the device that was found; nil if there is none at present.
    func use(_ device: PulseDevice?) {
        if device == nil {
            closeStream()
            self.device = nil
            if !startup.isDone { succeed() }
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
            fragsize: UInt32(CaptureChunker.samplesPerPacket * 2))
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
            if !startup.isDone { succeed() }
        case PA_STREAM_FAILED, PA_STREAM_TERMINATED: streamFailed()
        default: break
        }
    }

    private func streamFailed() {
        closeStream()
        let name = device?.description ?? "the device"
        device = nil
        recording.failuresInARow += 1
        guard context.map({ pa_context_get_state($0) }) == PA_CONTEXT_READY else { return }
        if recording.failuresInARow > 3 {
            return fail(SourceFailure(.deviceGone, "\(name) cannot be recorded: \(lastError)."))
        }
        // The default sink or source may have been replaced.
        findDevice()
    }

    func closeStream() {
        cancel(&recording.corkTimer)
        corked.store(true, ordering: .releasing)
        chunker.reset()
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
            cancel(&recording.corkTimer)
            guard corked.exchange(false, ordering: .acquiringAndReleasing) else { return }
            release(pa_stream_cork(stream, 0, nil, nil))
            onCork?(false)
            updateTiming()
        } else if !isCorked, recording.corkTimer == nil {
            recording.corkTimer = pa_context_rttime_new(
                context, pa_rtclock_now() + Self.linger, { _, _, _, me in PulseCapture.from(me)?.cork() }, me)
        }
    }

    private func cork() {
        cancel(&recording.corkTimer)
        guard let stream else { return }
        corked.store(true, ordering: .releasing)
        release(pa_stream_cork(stream, 1, nil, nil))
        // Flush what the server still holds; otherwise it would be delivered, out of date, after the next uncork.
        release(pa_stream_flush(stream, nil, nil))
        chunker.reset()
        onCork?(true)
    }

    private func updateTiming() {
        recording.bytesSinceTiming = 0
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
            moment = moment - CaptureChunker.duration(ofSamples: pa_stream_readable_size(stream) / 2)
        }
        var data: UnsafeRawPointer?
        var count = 0
        while self.stream == stream, pa_stream_peek(stream, &data, &count) >= 0, count > 0 {
            if !isCorked, let handler {
                chunker.append(
                    data?.assumingMemoryBound(to: Int16.self), count: count / 2, capturedAt: moment, handler)
            }
            moment = moment + CaptureChunker.duration(ofSamples: count / 2)
            recording.bytesSinceTiming += count
            recording.failuresInARow = 0
            pa_stream_drop(stream)
        }
        if recording.bytesSinceTiming >= Self.timingInterval { updateTiming() }
    }
}
