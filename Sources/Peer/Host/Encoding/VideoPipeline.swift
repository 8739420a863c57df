import LinuxRuntime
package import MediaCore
import MediaEngine

/// The video thread of a host, which runs a ``CaptureLoop``. No frame is encoded while earlier frames wait for the
/// network. All viewers share one encoding; a second one is made of the same canvas while some viewers are much slower
/// than others.
// SAFETY: the capture loop is used by the video thread alone (handed over in `start`); all shared state is in a
// Monitor. `source.wake` may be called from any thread.
package final class VideoPipeline: @unchecked Sendable {
    package struct Limits: Sendable {
        package var framesPerSecond: Int
        /// nil: detected from the screen's activity.
        package var contentHint: ContentHint?

        package init(framesPerSecond: Int, contentHint: ContentHint? = nil) {
            self.framesPerSecond = framesPerSecond
            self.contentHint = contentHint
        }
    }

    private let source: any ScreenSource
    private let controls: Monitor<EncoderControls>
    private let counters = Monitor(VideoPipelineStatistics())
    private let thread = Monitor<NamedThread?>(nil)
    private let capture: CaptureLoop

    package init(
        source: any ScreenSource, encoder: any VideoEncoder, limits: Limits, bitrate: Bitrate,
        frames: FrameQueues, clock: @escaping @Sendable () -> MediaInstant
    ) {
        self.source = source
        controls = Monitor(EncoderControls(bitrate: bitrate))
        let stage = EncodingStage(
            frames: frames, controls: controls, counters: counters, contentHint: limits.contentHint, clock: clock)
        capture = CaptureLoop(
            source: source, encoder: encoder, framesPerSecond: limits.framesPerSecond, stage: stage,
            controls: controls, counters: counters, clock: clock)
    }

    /// Starts the video thread.
    /// - Parameters:
    ///   - framesReady: called on the video thread after it has queued a frame.
    ///   - failed: called on the video thread, which then ends.
    package func start(framesReady: @escaping @Sendable () -> Void, failed: @escaping @Sendable (SourceFailure) -> Void)
    {
        capture.stage.framesReady = framesReady
        capture.stage.failed = failed
        thread.with { $0 = NamedThread("video") { self.capture.run() } }
    }

    /// Stops the video thread and returns when it has ended, without blocking a thread. May be called more than once.
    package func stop() async {
        requestStop()
        await thread.with { $0 }?.ended()
    }

    /// Stops or continues capturing. A frame that is being captured now is still queued. May be called from any thread.
    func set(_ hold: BroadcastHold?) { change { $0.hold = hold } }

    func requestStop() { change { $0.isStopped = true } }

    /// Changes the requests, and wakes the video thread if they differ. May be called from any thread.
    func change(_ body: (inout EncoderControls) -> Void) {
        controls.change {
            body(&$0)
            $0.generation &+= 1
        }
        source.wake()
    }

    /// Sets a policy that takes effect with the next frame, without a wake-up. May be called from any thread.
    func set(_ referencePolicy: LongTermReferencePolicy, of encoding: EncodingID) {
        controls.with { $0[encoding].referencePolicy = referencePolicy }
    }

    package var statistics: VideoPipelineStatistics { counters.with { $0 } }
}
