internal import Glibc
public import MediaCore

/// A synthetic audio source: sines of 440 Hz on the left and 660 Hz on the right (amplitude 3,000 of 32,767). In the
/// first 100 ms of each second both channels have 1,000 Hz instead (amplitude 12,000). The thread is named `audio`.
// SAFETY: `run` is touched only while `mutex` is held; the table does not change.
public final class TestTone: AudioSource, @unchecked Sendable {
    /// One run of the thread; each `start` makes a new one.
    // SAFETY: `isStopped` is guarded by `mutex`; the rest does not change.
    private final class Run: @unchecked Sendable {
        let table: [Int16]
        let handler: @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void
        private let stopped = WakeSignal()

        init(_ table: [Int16], _ handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void) {
            self.table = table
            self.handler = handler
        }

        func stop() { stopped.ring() }

        func play() {
            let packet = AudioFormat.framesPerTenMilliseconds
            var due = MediaInstant.now
            var frame = 0
            table.withUnsafeBufferPointer { table in
                while true {
                    // A packet exists when its last sample was "recorded".
                    let end = due + .milliseconds(10)
                    if stopped.sleep(until: end) { return }
                    handler(UnsafeBufferPointer(rebasing: table[frame * 2..<(frame + packet) * 2]), due)
                    frame = (frame + packet) % AudioFormat.sampleRate
                    due = end
                    // The machine slept: leave a gap rather than catch up in a burst.
                    let late = MediaInstant.now - due
                    if late > .milliseconds(200) { due = due + .milliseconds(Int(late.inMilliseconds) / 10 * 10) }
                }
            }
        }
    }

    private let table: [Int16]
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var run: (run: Run, thread: pthread_t)?

    public init() {
        pthread_mutex_init(mutex, nil)
        // Every frequency is an integer in hertz, so a table of one second repeats without a discontinuity.
        table = (0..<AudioFormat.sampleRate).flatMap { index in
            let turn = 2 * Double.pi * Double(index) / Double(AudioFormat.sampleRate)
            if index < AudioFormat.sampleRate / 10 {
                let beep = Int16(12_000 * sin(1_000 * turn))
                return [beep, beep]
            }
            return [Int16(3_000 * sin(440 * turn)), Int16(3_000 * sin(660 * turn))]
        }
    }

    deinit {
        stop()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    public var summary: String { "test tone, 440 Hz left and 660 Hz right" }

    /// A call while it runs does nothing.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard run == nil else { return }
        let new = Run(table, handler)
        var thread = pthread_t()
        let box = Unmanaged.passRetained(new)
        let code = pthread_create(
            &thread, nil,
            { raw in
                guard let raw else { return nil }
                nameThread("audio")
                Unmanaged<Run>.fromOpaque(raw).takeRetainedValue().play()
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw SourceFailure(.unsupported, "no thread is left for the test tone (error \(code))")
        }
        run = (new, thread)
    }

    /// Returns within about a millisecond, or once a running handler returns. Must not be called from the handler.
    public func stop() {
        pthread_mutex_lock(mutex)
        let ending = run
        run = nil
        pthread_mutex_unlock(mutex)
        guard let ending else { return }
        ending.run.stop()
        pthread_join(ending.thread, nil)
    }
}

/// For `top -H` and `perf`. Swift's Glibc module has no `pthread_setname_np`, and the kernel takes the name here too.
private func nameThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = name.withCString { write(file, $0, strlen($0)) }
    close(file)
}
