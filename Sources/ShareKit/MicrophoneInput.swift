internal import LinuxRuntime
internal import MediaCore
import Synchronization

/// The microphone of one capture, which may be switched on and off. Devices open and close within 5 s, on a thread of
/// their own.
final class MicrophoneInput: Sendable {
    private struct State {
        var source: (any AudioSource)?
        var isClosed = false
    }

    private let meter = Monitor(AudioLevelMeter())

    private let state = Mutex(State())
    private let makeSource: @Sendable () -> any AudioSource
    private let handler: @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void
    private let gone: @Sendable (ShareKitError) -> Void

    /// - Parameter gone: called on the source's thread when the device has gone.
    init(
        makeSource: @escaping @Sendable () -> any AudioSource,
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        gone: @escaping @Sendable (ShareKitError) -> Void
    ) {
        self.makeSource = makeSource
        let meter = meter
        self.handler = { samples, instant in
            meter.with { $0.add(samples, at: MonotonicClock.now) }
            handler(samples, instant)
        }
        self.gone = gone
    }

    /// In dBFS (-70...0); nil in silence, and while it is off.
    var level: Double? { meter.with { $0.decibels(at: MonotonicClock.now) } }

    /// Switches the microphone on or off; does nothing after the end of the capture.
    /// - Throws: `.noMicrophone`; it is then off.
    func setEnabled(_ isEnabled: Bool) async throws(ShareKitError) {
        let failure = Monitor<ShareKitError?>(nil)
        let thread: NamedThread
        do throws(NamedThread.Failure) {
            thread = try NamedThread.start("microphone") { [self] in
                failure.with { $0 = isEnabled ? open() : off() }
            }
        } catch {
            throw ShareKitError(.noMicrophone, "no thread is left for the microphone (error \(error.code))")
        }
        await thread.ended()
        if let failure = failure.with({ $0 }) { throw failure }
    }

    private func open() -> ShareKitError? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            // One that has gone still has to be stopped.
            state.source?.stop()
            state.source = nil
            let source = makeSource()
            do throws(SourceFailure) {
                try source.start(handler: handler, ended: { [gone] failure in gone(ShareKitError(failure)) })
            } catch {
                return ShareKitError(error)
            }
            state.source = source
            return nil
        }
    }

    private func off() -> ShareKitError? {
        defer { meter.with { $0.reset() } }
        return stopSource()
    }

    private func stopSource() -> ShareKitError? {
        state.withLock { state in
            state.source?.stop()
            state.source = nil
        }
        return nil
    }

    /// Blocks for as long as a device opens or closes. Not to be called on the source's thread.
    func close() {
        state.withLock { $0.isClosed = true }
        _ = off()
    }
}

extension ShareKitError {
    init(_ failure: SourceFailure) {
        self.init(.noMicrophone, failure.message, remedy: failure.remedy)
    }
}
