import LinuxRuntime
import MediaCore
import MediaEngine

/// Encodes the canvas for one encoding and queues the frame for the network thread. Confined to the video thread.
final class EncodingStage {
    /// One frame that is due.
    struct Work {
        var isKeyframe = false
        /// The frame only refines unchanged blocks.
        var isRefinement = false
        /// The long-term reference to recover from.
        var recoveryReference: UInt32?
        var captured: MediaInstant
        /// The canvas shows nothing of the screen.
        var isBlank = false
    }

    /// A frame that was encoded.
    struct Result {
        let frame: EncodedFrame
        let work: Work
        /// It continues the frame before.
        let isRest: Bool
        let size: PixelSize
        /// The time that it took.
        let spent: MediaDuration
    }

    private let frames: FrameQueues
    private let controls: Monitor<EncoderControls>
    private let counters: Monitor<VideoPipelineStatistics>
    /// nil: detected from the screen's activity.
    private let contentHint: ContentHint?
    private let clock: @Sendable () -> MediaInstant
    var framesReady: () -> Void = {}
    var failed: (SourceFailure) -> Void = { _ in }

    /// The shortest interval between two frames that are stored as long-term references.
    private static let storingInterval = MediaDuration.milliseconds(400)

    init(
        frames: FrameQueues, controls: Monitor<EncoderControls>, counters: Monitor<VideoPipelineStatistics>,
        contentHint: ContentHint?, clock: @escaping @Sendable () -> MediaInstant
    ) {
        self.frames = frames
        self.controls = controls
        self.counters = counters
        self.contentHint = contentHint
        self.clock = clock
    }

    func encode(
        _ canvas: I420Buffer, _ encoding: VideoEncoding, _ control: EncoderControl, _ work: Work, _ now: MediaInstant
    ) {
        encoding.schedule.note(frameAt: now)
        guard let result = make(canvas, encoding, control, work, now), pass(result, encoding, now),
            encoding.encoder.continuesAtOnce
        else { return }
        // Files count milliseconds.
        let next = max(clock(), now + .milliseconds(1))
        let rest = Work(isRefinement: true, captured: next, isBlank: work.isBlank)
        if let result = make(canvas, encoding, control, rest, next) { _ = pass(result, encoding, next) }
    }

    /// Encodes a frame without passing it on.
    /// - Returns: valid until the encoding's next one; nil if there is no frame.
    func make(
        _ canvas: I420Buffer, _ encoding: VideoEncoding, _ control: EncoderControl, _ work: Work, _ now: MediaInstant
    ) -> Result? {
        if !work.isRefinement {
            encoding.activity.note(blocks: encoding.changed.count, of: encoding.changed.blocks.count, at: now)
        }
        encoding.encoder.contentHint = contentHint ?? encoding.activity.contentHint
        let isRest = encoding.encoder.hasUncodedChanges
        let frame: EncodedFrame?
        do throws(CodecFailure) {
            frame = try encoding.encoder.encode(
                canvas, changed: encoding.changed, at: now, request(encoding, control, work, now))
        } catch {
            counters.with { $0.skipped += 1 }
            failed(SourceFailure(.unsupported, "the encoder gave up: \(error.message)"))
            controls.with { $0.isStopped = true }
            return nil
        }
        guard let frame else {
            counters.with { $0.skipped += 1 }
            return nil
        }
        return Result(frame: frame, work: work, isRest: isRest, size: canvas.size, spent: clock() - now)
    }

    /// Queues a frame for the viewers, who lack nothing of what it shows from then on.
    /// - Returns: false if the queue is full.
    func pass(_ result: Result, _ encoding: VideoEncoding, _ now: MediaInstant) -> Bool {
        note(result.frame, encoding, now)
        counters.with {
            $0.note(
                result.frame, of: encoding.id, isRefinement: result.work.isRefinement && !result.isRest,
                spent: result.spent, size: result.size)
        }
        return queue(result.frame, encoding, result.work)
    }

    private func request(
        _ encoding: VideoEncoding, _ control: EncoderControl, _ work: Work, _ now: MediaInstant
    ) -> VideoEncodeRequest {
        // A frame may take a quarter of a second of the bitrate; the remaining quality follows as refinement.
        let budget = max(control.target.bitrate.bitsPerSecond / 8 / 4, 6_000)
        var request = VideoEncodeRequest(
            bitrate: control.target.bitrate, isKeyframeRequested: work.isKeyframe, isRefinement: work.isRefinement,
            byteBudget: budget, layering: control.target.layering)
        request.separatesRegions = contentHint == nil
        request.allowsRecoveryFrames = control.referencePolicy.allowsRecoveryFrames
        request.storesLongTermReference =
            control.referencePolicy.mayStore && now - encoding.lastStored >= Self.storingInterval
        request.recoveryReference = work.recoveryReference
        return request
    }

    /// Clears the requests that this frame fulfils.
    private func note(_ frame: EncodedFrame, _ encoding: VideoEncoding, _ now: MediaInstant) {
        encoding.hasChanges = false
        encoding.changed.clear()
        if frame.isKeyframe {
            encoding.lastKeyframe = now
            controls.with {
                $0[encoding.id].isKeyframeWanted = false
                $0[encoding.id].isFirstFrameAwaited = false
                $0[encoding.id].noteRecovery()
            }
        }
        if frame.references.source != nil {
            encoding.lastRecovery = now
            controls.with { $0[encoding.id].noteRecovery() }
        }
        if frame.isKeyframe || frame.references.stored != nil { encoding.lastStored = now }
    }

    /// - Returns: false if the queue is full.
    private func queue(_ frame: EncodedFrame, _ encoding: VideoEncoding, _ work: Work) -> Bool {
        let info = FrameInfo(
            of: frame.bytes, isKeyframe: frame.isKeyframe, encoding: encoding.id, layer: frame.layer,
            captured: work.captured, changedSince: encoding.changedSince, references: frame.references,
            isBlank: work.isBlank, recoveryBytes: frame.recoveryBytes)
        guard frames[encoding.id].push(frame.bytes, info) else {
            counters.with { $0.skipped += 1 }
            // The next frame would refer to a frame that no viewer received.
            if frame.layer == 0 { controls.with { $0[encoding.id].isKeyframeWanted = true } }
            // The first blank frame is tried again at once, also while no other frame is to be made.
            if work.isBlank, frame.isKeyframe { encoding.lastKeyframe = nil }
            return false
        }
        if !encoding.encoder.hasUncodedChanges { encoding.changedSince = nil }
        framesReady()
        return true
    }
}
