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
    let summaryText: Mutex<String>
    let corked = Atomic<Bool>(true)
    /// Called on the thread `audio`; set before `start`.
    var onCork: (@Sendable (Bool) -> Void)?

    var loop: OpaquePointer?
    var context: OpaquePointer?
    var stream: OpaquePointer?
    var handler: Handler?
    /// nil after the failure was reported.
    var ended: (@Sendable (SourceFailure) -> Void)?
    var startup = Startup()
    /// The device of the current stream.
    var device: PulseDevice?
    var queries = ServerQueries()
    var chunker = CaptureChunker()
    var recording = Recording()

    /// The progress of `start`.
    struct Startup {
        /// While it is set, `start` waits and throws the failure.
        var isUnderway = false
        var isDone = false
        var failure: SourceFailure?
        var deadline: OpaquePointer?
    }

    /// The state of the current stream beyond libpulse's own.
    struct Recording {
        /// Runs while nothing plays and the stream is not corked yet.
        var corkTimer: OpaquePointer?
        var bytesSinceTiming = 0
        /// Consecutive streams that failed before they delivered audio.
        var failuresInARow = 0
    }

    init(_ target: CaptureTarget, server: String?) {
        self.target = target
        self.server = server
        summaryText = Mutex(target.isMonitor ? "what plays on this machine" : "a microphone")
    }

    var summary: String { summaryText.withLock { $0 } }
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
        self.handler = handler
        self.ended = ended
        startup = Startup(isUnderway: true)
        recording.failuresInARow = 0
        device = nil
        queries = ServerQueries()
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

    /// Reports a failure once: to `start` while it waits, afterwards to `ended`.
    func fail(_ failure: SourceFailure) {
        if startup.isUnderway {
            if startup.failure == nil, !startup.isDone { startup.failure = failure }
            if let loop { pa_threaded_mainloop_signal(loop, 0) }
            return
        }
        guard let ended else { return }
        self.ended = nil
        closeStream()
        ended(failure)
    }

    func succeed() {
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
