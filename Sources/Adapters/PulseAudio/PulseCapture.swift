import CPulse
import LinuxRuntime
import MediaCore
import Synchronization

/// Records audio from a PulseAudio server on libpulse's thread `audio`.
///
/// With each change at the server, a `CapturePlan` says which streams are needed; these are opened, corked or closed,
/// and what several of them record is mixed.
///
/// - Isolation: `start` and `stop` from any other thread; the rest runs on that thread.
final class PulseCapture: @unchecked Sendable {
    // SAFETY: `summaryText` and `corked` guard themselves. Every other stored property is touched on the thread
    // `audio`, or with the main loop's lock held, which keeps that thread out.

    typealias Handler = @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void

    let target: CaptureTarget
    let server: String?
    /// Whether the capture waits for a server or device that is missing or has gone, instead of ending.
    let isPersistent: Bool
    let summaryText: Mutex<String>
    let corked = Atomic<Bool>(true)
    /// Called on the thread `audio`; set before `start`.
    var onCork: (@Sendable (Bool) -> Void)?
    var onChange: (@Sendable (AudioSourceChange) -> Void)?

    var loop: OpaquePointer?
    var context: OpaquePointer?
    var query: ServerQuery?
    var streams: [RecordStream] = []
    /// nil unless it was started.
    var recipient: Recipient?
    var startup = Startup()
    var recording = Recording()
    var mixer = AudioMixer()

    /// The callbacks of the owner.
    struct Recipient {
        let handler: Handler
        /// nil after the failure was reported.
        var ended: (@Sendable (SourceFailure) -> Void)?
    }

    /// The progress of `start`.
    struct Startup {
        /// While it is set, `start` waits and throws the failure.
        var isUnderway = false
        var isDone = false
        var failure: SourceFailure?
        var deadline: OpaquePointer?
    }

    /// The state of a capture beyond its streams.
    struct Recording {
        var nextStream = 0
        /// How often in a row a stream failed before it delivered audio.
        var failures: [CapturePlan.Origin: Int] = [:]
        /// `.interrupted` was reported.
        var isInterrupted = false
        /// The plan's notice was reported.
        var isNoticed = false
        /// Whether `.resumed` is due with the first stream.
        var isAwaited = false
        /// Runs while the server or a device is missing.
        var retryTimer: OpaquePointer?
        var retries = 0
        /// No stream is open for a while.
        var isHeld = false
    }

    init(_ target: CaptureTarget, server: String?, isPersistent: Bool = false) {
        self.target = target
        self.server = server
        self.isPersistent = isPersistent
        summaryText = Mutex(target.summary)
    }

    var summary: String { summaryText.withLock { $0 } }
    /// Whether no stream records.
    var isCorked: Bool { corked.load(ordering: .acquiring) }

    var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func from(_ context: UnsafeMutableRawPointer?) -> PulseCapture? {
        context.map { Unmanaged<PulseCapture>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Control from other threads

    func start(handler: @escaping Handler, ended: @escaping @Sendable (SourceFailure) -> Void) throws(SourceFailure) {
        precondition(loop == nil, "started twice")
        guard let loop = pa_threaded_mainloop_new() else { throw Self.noServer("out of memory") }
        pa_threaded_mainloop_set_name(loop, "audio")
        self.loop = loop
        recipient = Recipient(handler: handler, ended: ended)
        startup = Startup(isUnderway: true)
        recording = Recording(isHeld: recording.isHeld)
        query = ServerQuery { [weak self] in self?.apply($0) }
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
        closeStreams()
        closeContext()
        recipient = nil
        pa_threaded_mainloop_unlock(loop)
        pa_threaded_mainloop_stop(loop)
        pa_threaded_mainloop_free(loop)
        self.loop = nil
        query = nil
        Unmanaged.passUnretained(self).release()
    }

    /// Closes the streams for a while, or opens them again. Not to be called beside `start` or `stop`, nor from the
    /// handler.
    func setHeld(_ isHeld: Bool) {
        guard let loop else {
            recording.isHeld = isHeld
            return
        }
        pa_threaded_mainloop_lock(loop)
        defer { pa_threaded_mainloop_unlock(loop) }
        guard recipient != nil, recording.isHeld != isHeld else { return }
        recording.isHeld = isHeld
        if isHeld { closeStreams() } else { refresh() }
    }

    // MARK: What is reported

    /// Ends the capture, or interrupts it if it is persistent.
    func fail(_ failure: SourceFailure) {
        guard isPersistent else { return end(failure) }
        if !recording.isInterrupted {
            recording.isInterrupted = true
            onChange?(.interrupted(failure))
        }
        succeed()
    }

    /// Reports a failure once: to `start` while it waits, afterwards to `ended`.
    private func end(_ failure: SourceFailure) {
        if startup.isUnderway {
            if startup.failure == nil, !startup.isDone { startup.failure = failure }
            if let loop { pa_threaded_mainloop_signal(loop, 0) }
            return
        }
        guard let ended = recipient?.ended else { return }
        recipient?.ended = nil
        closeStreams()
        ended(failure)
    }

    /// The capture does what it can do now.
    func settled() {
        if recording.isInterrupted || recording.isAwaited && !streams.isEmpty {
            recording.isInterrupted = false
            recording.isAwaited = false
            onChange?(.resumed(summary))
        }
        succeed()
    }

    /// Lets `start` return.
    private func succeed() {
        guard !startup.isDone else { return }
        startup.isDone = true
        if let loop { pa_threaded_mainloop_signal(loop, 0) }
    }

    func release(_ operation: OpaquePointer?) {
        if let operation { pa_operation_unref(operation) }
    }

    func cancel(_ timer: inout OpaquePointer?) {
        guard let event = timer, let loop else { return }
        pa_threaded_mainloop_get_api(loop).pointee.time_free(event)
        timer = nil
    }
}
