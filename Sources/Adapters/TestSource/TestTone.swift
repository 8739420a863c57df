internal import Glibc
internal import LinuxRuntime
public import MediaCore
import Synchronization

/// A synthetic audio source: sines of 440 Hz on the left and 660 Hz on the right (amplitude 3,000 of 32,767). In the
/// first 100 ms of each whole second of the media clock both channels have 1,000 Hz instead (amplitude 12,000), as
/// ``TestVideoSource`` counts. The thread is named `audio`.
public final class TestTone: AudioSource, Sendable {
    /// One run of the thread; each `start` makes a new one.
    private final class Run: Sendable {
        let table: [Int16]
        let handler: @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void
        private let isStopped = Monitor(false)

        init(_ table: [Int16], _ handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void) {
            self.table = table
            self.handler = handler
        }

        func stop() { isStopped.change { $0 = true } }

        func play() {
            let packet = AudioFormat.samplesPerChannelIn10ms
            var due = MediaInstant(nanoseconds: MonotonicClock.now.nanoseconds / 10_000_000 * 10_000_000)
            table.withUnsafeBufferPointer { table in
                while true {
                    // A packet exists when its last sample was "recorded".
                    let end = due + .milliseconds(10)
                    if isStopped.wait(until: end, { $0 ? () : nil }) != nil { return }
                    let frame = Int(due.nanoseconds / 10_000_000 % 100) * packet
                    handler(UnsafeBufferPointer(rebasing: table[frame * 2..<(frame + packet) * 2]), due)
                    due = end
                    // The machine slept: leave a gap rather than catch up in a burst.
                    let late = MonotonicClock.now - due
                    if late > .milliseconds(200) { due = due + .milliseconds(Int(late.inMilliseconds) / 10 * 10) }
                }
            }
        }
    }

    private let table: [Int16]
    private let run = Mutex<(run: Run, thread: NamedThread)?>(nil)

    public init() {
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

    deinit { stop() }

    public var summary: String { "test tone, 440 Hz left and 660 Hz right" }

    /// A call while it runs does nothing.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        let failure = run.withLock { run -> NamedThread.Failure? in
            guard run == nil else { return nil }
            let new = Run(table, handler)
            do throws(NamedThread.Failure) {
                run = (new, try NamedThread.start("audio") { new.play() })
                return nil
            } catch {
                return error
            }
        }
        if let failure {
            throw SourceFailure(.unsupported, "no thread is left for the test tone (error \(failure.code))")
        }
    }

    /// Returns within about a millisecond, or once a running handler returns. Must not be called from the handler.
    public func stop() {
        let ending = run.withLock { run in
            defer { run = nil }
            return run
        }
        ending?.run.stop()
        ending?.thread.join()
    }
}
