internal import CameraCapture
internal import InAppCapture
internal import LinuxRuntime
internal import MediaCore

/// One capture of an app: its threads, from the first sample to the end.
///
/// The thread `capture` reads frames, and ends the others; `audio` has the app's audio, the source of the microphone
/// another thread; `samples` calls the handler, if there is one.
final class SampleCapture: RunningCapture {
    typealias Handler = @Sendable (SampleBuffer) -> Void

    /// What a capture tells its recorder, on any of its threads.
    struct Events: Sendable {
        /// It takes no further samples; an error unless the app has ended it.
        var ended: @Sendable (ShareKitError?) -> Void
        /// All its threads have ended.
        var over: @Sendable () -> Void
        var microphoneGone: @Sendable (ShareKitError) -> Void
    }

    let queue: SampleQueue
    let microphone: MicrophoneInput
    private let thread: NamedThread

    /// Starts a capture without its microphone.
    /// - Parameter handler: called on one thread with one sample after the other; nil: `queue` is read.
    /// - Throws: `.failed` if no thread is left; `events` is then not called.
    init(
        _ source: ApplicationSource, framesPerSecond: Int, handler: Handler?,
        makeMicrophone: @escaping @Sendable () -> any AudioSource, events: Events
    ) throws(ShareKitError) {
        let screen = source.makeScreen()
        let isStarted = Monitor(false)
        let queue = SampleQueue { failure in
            if isStarted.with({ $0 }) { events.ended(failure) }
            screen.wake()
        }
        let microphone = MicrophoneInput(
            makeSource: makeMicrophone, handler: { queue.push(.copy($0, .microphoneAudio, $1)) },
            gone: events.microphoneGone)
        self.queue = queue
        self.microphone = microphone
        // An app may hand in seconds at a time.
        let audio = source.audio?.makeSource(capacity: .seconds(5))
        // The app sees that it is captured before the capture has started.
        screen.resume()
        do throws(NamedThread.Failure) {
            var delivery: NamedThread?
            if let handler {
                delivery = try NamedThread.start("samples") {
                    while let sample = queue.waitAndPop() { handler(sample) }
                }
            }
            thread = try NamedThread.start("capture") { [delivery] in
                FrameSampler(screen, queue, framesPerSecond: framesPerSecond).run()
                audio?.stop()
                microphone.close()
                delivery?.join()
                events.over()
            }
        } catch {
            screen.close()
            queue.end(isDiscarding: true)
            throw ShareKitError(.failed, "no thread is left for the capture (error \(error.code))")
        }
        isStarted.with { $0 = true }
        do throws(SourceFailure) {
            try audio?.start(handler: { queue.push(.copy($0, .applicationAudio, $1)) }, ended: { _ in })
        } catch {
            end(ShareKitError(.sourceGone, error.message, remedy: error.remedy), isDiscarding: true)
        }
    }

    var isEnded: Bool { queue.isEnded }
    var failure: ShareKitError? { queue.failure }

    /// Takes no further samples. Those that wait are still handed over, unless they are discarded.
    func end(_ failure: ShareKitError?, isDiscarding: Bool) { queue.end(failure, isDiscarding: isDiscarding) }

    func abandon() { end(nil, isDiscarding: true) }

    /// Returns when all threads have ended, the handler's call with them.
    func ended() async { await thread.ended() }
}

extension SampleBuffer {
    /// Copies audio that is lent for the call.
    fileprivate static func copy(
        _ samples: UnsafeBufferPointer<Int16>, _ kind: MediaKind, _ instant: MediaInstant
    ) -> SampleBuffer {
        let copy = UnsafeMutableBufferPointer<Int16>.allocate(capacity: samples.count)
        _ = copy.initialize(from: samples)
        let memory = AudioMemory(samples: copy)
        let lent = UnsafeBufferPointer(copy)
        return SampleBuffer(
            kind == .microphoneAudio ? .microphoneAudio(lent) : .applicationAudio(lent), time: Duration(instant)
        ) { memory.samples.deallocate() }
    }
}

/// The memory of one piece of audio.
// SAFETY: it is only deallocated, once, by the sample that owns it.
private struct AudioMemory: @unchecked Sendable {
    let samples: UnsafeMutableBufferPointer<Int16>
}
