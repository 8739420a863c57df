import CPulse
import MediaCore
import Synchronization

/// The streams of a capture, as its plan wants them.
extension PulseCapture {
    /// A stream that has failed more often is not opened again until its origin has gone, or the capture retries.
    private static let maximumFailures = 3

    var isMixing: Bool { mixer.hasSeveralInputs }

    /// Opens, corks and closes streams for what the server has now.
    func apply(_ server: ServerSnapshot) {
        guard let context, recipient != nil else { return }
        var plan = CapturePlan(target, server)
        summaryText.withLock { $0 = plan.summary }
        if let failure = plan.failure {
            closeStreams()
            return deviceLost(failure)
        }
        if recording.isHeld { plan.streams = [] }
        let origins = Set(plan.streams.map(\.origin))
        for stream in streams where !origins.contains(stream.origin) { close(stream) }
        recording.failures = recording.failures.filter { origins.contains($0.key) }
        for wanted in plan.streams {
            if let stream = streams.first(where: { $0.origin == wanted.origin }) {
                stream.setPlaying(wanted.isPlaying)
            } else if recording.failures[wanted.origin, default: 0] <= Self.maximumFailures {
                open(wanted, context)
            }
        }
        if let notice = plan.notice, !recording.isNoticed, let onChange {
            recording.isNoticed = true
            recording.isAwaited = true
            onChange(.notice(notice))
        }
        if plan.streams.isEmpty { settled() }
    }

    private func open(_ wanted: CapturePlan.Stream, _ context: OpaquePointer) {
        let stream = RecordStream(
            recording.nextStream, wanted.origin, of: self, context, isCorked: !target.isMicrophone)
        recording.nextStream += 1
        stream.setPlaying(wanted.isPlaying)
        streams.append(stream)
        noteCorks(stream)
        if !stream.open() { streamFailed(stream) }
    }

    func closeStreams() { for stream in streams { close(stream) } }

    private func close(_ stream: RecordStream) {
        streams.removeAll { $0 === stream }
        stream.close()
        noteCorks(stream)
    }

    // MARK: Reports of streams

    func streamReady(_ stream: RecordStream) { settled() }

    /// The device or the playback has gone, or may have.
    func streamFailed(_ stream: RecordStream) {
        guard streams.contains(where: { $0 === stream }) else { return }
        let failures = stream.hasDelivered ? 1 : recording.failures[stream.origin, default: 0] + 1
        recording.failures[stream.origin] = failures
        close(stream)
        guard context.map({ pa_context_get_state($0) }) == PA_CONTEXT_READY else { return }
        if failures > Self.maximumFailures, stream.origin.playback == nil {
            deviceLost(SourceFailure(.deviceGone, "\(summary) cannot be recorded: \(lastError)."))
            if isPersistent { scheduleRetry() }
            return
        }
        // The default device may have been replaced.
        refresh()
    }

    /// Reports that a device does not exist, or was removed.
    private func deviceLost(_ failure: SourceFailure) {
        var failure = failure
        if startup.isDone { failure.code = .deviceGone }
        fail(failure)
    }

    func corkChanged(_ stream: RecordStream) {
        let wasCorked = isCorked
        noteCorks(stream)
        if isCorked != wasCorked { onCork?(isCorked) }
    }

    private func noteCorks(_ stream: RecordStream) {
        if stream.isCorked { mixer.remove(stream.id) } else { mixer.add(stream.id) }
        corked.store(streams.allSatisfy(\.isCorked), ordering: .releasing)
    }

    func take(_ packet: UnsafeBufferPointer<Int16>, _ captured: MediaInstant, from stream: RecordStream) {
        guard let handler = recipient?.handler else { return }
        mixer.take(packet, captured, from: stream.id, handler)
    }
}
