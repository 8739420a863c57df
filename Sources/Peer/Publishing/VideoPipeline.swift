import LinuxRuntime
public import MediaCore
import MediaEngine

struct FrameInfo: Sendable {
    var isKeyframe: Bool
    var encoding: EncodingID
    var layer: UInt8
    var captured: MediaInstant
    /// When the first of the changes that it shows was reported; nil if it shows nothing new.
    var changedSince: MediaInstant?
    var references = FrameReferences()
}

/// A queue for each encoding, so that frames of one never take the place of the other's.
package struct FrameQueues: Sendable {
    package init() {}

    let main = FrameQueue<FrameInfo>(capacity: 3, bytes: 65_536)
    let low = FrameQueue<FrameInfo>(capacity: 3, bytes: 65_536)

    subscript(encoding: EncodingID) -> FrameQueue<FrameInfo> { encoding == .main ? main : low }
}

/// Counted by the video thread, read by anyone.
public struct VideoPipelineStatistics: Sendable {
    public var frames = 0
    public var refinements = 0
    public var keyframes = 0
    /// Frames that went on from a kept one instead of a key frame.
    public var recoveries = 0
    /// Of the frames, those that only viewers with room got: temporal layer 1.
    public var upperLayerFrames = 0
    /// Of the frames, those of the lower encoding.
    public var lowFrames = 0
    public var bytes = 0
    public var encodeNanoseconds: Int64 = 0
    public var readNanoseconds: Int64 = 0
    public var skipped = 0
    public var size = PixelSize(width: 0, height: 0)
}

/// The video thread of a host: waits for damage, reads, encodes, hands over. Damage starts a frame, never a timer;
/// while the encoder works, damage gathers and makes the next frame; a frame never waits behind another. One encoding
/// feeds all viewers; a second one is made of the same canvas while some are much slower than others.
// SAFETY: source, encoder and canvas are used by the video thread alone (handed over in `start`); everything that
// others touch is in a Monitor. `source.wake` may be called from any thread.
package final class VideoPipeline: @unchecked Sendable {
    package struct Limits: Sendable {
        package var framesPerSecond: Int
        /// nil: chosen by what the screen does.
        package var contentHint: ContentHint?

        package init(framesPerSecond: Int, contentHint: ContentHint? = nil) {
            self.framesPerSecond = framesPerSecond
            self.contentHint = contentHint
        }
    }

    private let source: any ScreenSource
    private let limits: Limits
    private let clock: @Sendable () -> MediaInstant
    private let frames: FrameQueues
    private let controls: Monitor<EncoderControls>
    private let counters = Monitor(VideoPipelineStatistics())
    private let thread = Monitor<NamedThread?>(nil)

    // The rest belongs to the video thread.
    private var framesReady: () -> Void = {}
    private var failed: (SourceFailure) -> Void = { _ in }
    private var canvas: I420Buffer
    private let main: VideoEncoding
    private var low: VideoEncoding?
    /// What one reading found, while it is for two encodings.
    private var fresh = BlockMap(PixelSize(width: 0, height: 0))
    private var needsRead = true
    /// The first damage that was not read yet.
    private var damagedSince: MediaInstant?
    private var captured = MediaInstant(nanoseconds: 0)
    private var lastChange = MediaInstant(nanoseconds: 0)

    package init(
        source: any ScreenSource, encoder: any VideoEncoder, limits: Limits, bitrate: Bitrate,
        frames: FrameQueues, clock: @escaping @Sendable () -> MediaInstant
    ) {
        self.source = source
        self.limits = limits
        self.frames = frames
        self.clock = clock
        controls = Monitor(EncoderControls(bitrate: bitrate))
        canvas = I420Buffer(source.size)
        main = VideoEncoding(.main, encoder, source.size)
    }

    /// Starts the video thread.
    /// - Parameters:
    ///   - framesReady: called on the video thread after it has queued a frame.
    ///   - failed: called on the video thread, which then ends.
    package func start(framesReady: @escaping @Sendable () -> Void, failed: @escaping @Sendable (SourceFailure) -> Void)
    {
        self.framesReady = framesReady
        self.failed = failed
        thread.with { $0 = NamedThread("video") { self.run() } }
    }

    /// Returns when the thread has ended; blocks none. Twice is fine.
    package func stop() async {
        requestStop()
        await thread.with { $0 }?.ended()
    }

    func requestStop() { change { $0.isStopped = true } }

    /// Says what is wanted and wakes the thread if that is news to it. From any thread.
    func change(_ body: (inout EncoderControls) -> Void) {
        controls.change {
            body(&$0)
            $0.generation &+= 1
        }
        source.wake()
    }

    /// Takes effect with the next frame; no reason to wake up. From any thread.
    func set(_ keeping: LongTermReferencePolicy, of encoding: EncodingID) {
        controls.with { $0[encoding].keeping = keeping }
    }

    package var statistics: VideoPipelineStatistics { counters.with { $0 } }

    private func run() {
        do throws(SourceFailure) {
            var isSuspended = false
            while true {
                let control = controls.with { $0 }
                if control.isStopped { break }
                if !control.hasViewers {
                    if !isSuspended { source.suspend() }
                    isSuspended = true
                    controls.wait { $0.isStopped || $0.hasViewers ? () : nil }
                    continue
                }
                if isSuspended {
                    source.resume()
                    isSuspended = false
                    needsRead = true
                }
                try step(control)
            }
        } catch {
            failed(error)
        }
        source.close()
    }

    private func step(_ control: EncoderControls) throws(SourceFailure) {
        var now = clock()
        if control.low.isWanted, low == nil {
            low = VideoEncoding(.low, main.encoder.makeAnother(), canvas.size)
        } else if !control.low.isWanted {
            low = nil
        }
        let due = earlier(nextWork(main, control.main), low.flatMap { nextWork($0, control.low) })
        guard let due else { return try sleep(until: .distantFuture, control) }
        if due > now { return try sleep(until: due, control) }
        if !hasNews(main, control.main), !(low.map { hasNews($0, control.low) } ?? false) {
            // A change goes before what refines the picture, which is due as soon as a slow encoding has ended.
            try sleep(until: now, control)
            if needsRead { return }
        }

        if source.size != canvas.size { adoptSize() }
        if needsRead {
            let hasNews = try read()
            needsRead = false
            if source.size != canvas.size { return adoptSize() }
            if hasNews { lastChange = captured }
            let after = clock()
            let spent = after - now
            counters.with { $0.readNanoseconds += spent.nanoseconds }
            now = after
        }
        work(main, control.main, now)
        if let low { work(low, control.low, clock()) }
    }

    /// Whether a frame would be more than a refinement.
    private func hasNews(_ lane: VideoEncoding, _ control: EncoderControl) -> Bool {
        needsRead || lane.hasChanges || control.isKeyframeWanted || control.recoversFrom != nil
    }

    private func earlier(_ a: MediaInstant?, _ b: MediaInstant?) -> MediaInstant? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }

    /// Brings the canvas up to date.
    /// - Returns: whether anything is different.
    private func read() throws(SourceFailure) -> Bool {
        let damage = damagedSince ?? clock()
        damagedSince = nil
        guard let low else {
            captured = try source.read(into: canvas, changed: &main.changed)
            guard !main.changed.isEmpty else { return false }
            main.note(changeAt: damage)
            return true
        }
        if fresh.size != canvas.size { fresh = BlockMap(canvas.size) }
        fresh.clear()
        captured = try source.read(into: canvas, changed: &fresh)
        guard !fresh.isEmpty else { return false }
        main.note(fresh, since: damage)
        low.note(fresh, since: damage)
        return true
    }

    private func work(_ lane: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) {
        guard let due = nextWork(lane, control), due <= now else { return }
        let isKeyframe = keyframeIsDue(lane, control, now)
        let recovery = isKeyframe ? nil : recoveryIsDue(lane, control, now)
        if lane.hasChanges || isKeyframe || recovery != nil {
            encode(lane, control, isKeyframe: isKeyframe, isRefinement: false, recoversFrom: recovery, captured, now)
        } else {
            encode(lane, control, isKeyframe: false, isRefinement: true, now, now)
        }
    }

    /// When there is something to do for an encoding; nil if nothing but news from outside can bring any.
    private func nextWork(_ lane: VideoEncoding, _ control: EncoderControl) -> MediaInstant? {
        guard control.isWanted, !control.demand.isBlocked else { return nil }
        let interval = MediaDuration.microseconds(1_000_000 / max(limits.framesPerSecond, 1))
        let next = lane.lastFrame + interval
        if needsRead || lane.hasChanges { return next }
        if control.isKeyframeWanted {
            return lane.lastKeyframe.map { max(next, $0 + keyframeInterval(control)) } ?? next
        }
        if control.recoversFrom != nil {
            return lane.lastRecovery.map { max(next, $0 + Self.recoveryInterval) } ?? next
        }
        // What comes now is of the base.
        if control.demand.layering?.isBaseBlocked == true { return nil }
        if lane.encoder.isBehind { return next }
        return lane.encoder.unrefined == nil ? nil : max(next, lastChange + restBeforeRefinement)
    }

    private var restBeforeRefinement: MediaDuration { .milliseconds(120) }

    private func keyframeIsDue(_ lane: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) -> Bool {
        guard let last = lane.lastKeyframe else { return true }
        return control.isKeyframeWanted && now - last >= keyframeInterval(control)
    }

    /// Between two of either.
    private static let recoveryInterval = MediaDuration.milliseconds(300)
    private static let storingInterval = MediaDuration.milliseconds(400)

    /// The kept frame to go on from now; where the encoder cannot, a key frame is wanted instead.
    private func recoveryIsDue(_ lane: VideoEncoding, _ control: EncoderControl, _ now: MediaInstant) -> UInt32? {
        guard let number = control.recoversFrom else { return nil }
        guard lane.encoder.canRecover(from: number) else {
            controls.with {
                $0[lane.id].noteRecovery()
                $0[lane.id].isKeyframeWanted = true
            }
            return nil
        }
        return lane.lastRecovery.map { now - $0 >= Self.recoveryInterval } ?? true ? number : nil
    }

    private func keyframeInterval(_ control: EncoderControl) -> MediaDuration {
        control.isPictureAwaited ? .milliseconds(250) : .seconds(1)
    }

    private func sleep(until deadline: MediaInstant, _ control: EncoderControls) throws(SourceFailure) {
        if needsRead {
            // Damage is known and may not be read yet: more of it is no news.
            _ = controls.wait(until: deadline) { $0.generation != control.generation ? () : nil }
            return
        }
        switch try source.wait(until: deadline == .distantFuture ? nil : deadline) {
        case .damaged:
            needsRead = true
            damagedSince = damagedSince ?? clock()
        case .resized: adoptSize()
        case .woken: break
        }
    }

    private func adoptSize() {
        canvas = I420Buffer(source.size)
        main.restart(source.size)
        low?.restart(source.size)
        source.damageEverything()
        needsRead = true
    }

    private func encode(
        _ lane: VideoEncoding, _ control: EncoderControl, isKeyframe: Bool, isRefinement: Bool,
        recoversFrom: UInt32? = nil, _ captured: MediaInstant, _ now: MediaInstant
    ) {
        if !isRefinement { lane.activity.note(blocks: lane.changed.count, of: lane.changed.blocks.count, at: now) }
        lane.encoder.contentHint = limits.contentHint ?? lane.activity.contentHint
        // A new scene may take a quarter of a second of the line; what is missing is refined afterwards.
        let budget = max(control.demand.bitrate.bitsPerSecond / 8 / 4, 6_000)
        var request = VideoEncodeRequest(
            bitrate: control.demand.bitrate, isKeyframeRequested: isKeyframe, isRefinement: isRefinement,
            byteBudget: budget, layering: control.demand.layering)
        request.isRecoverable = control.keeping.isRecoverable
        request.isStored = control.keeping.mayStore && now - lane.lastStored >= Self.storingInterval
        request.recoversFrom = recoversFrom
        lane.lastFrame = now
        let isRest = lane.encoder.isBehind
        let frame: EncodedFrame?
        do throws(CodecFailure) {
            frame = try lane.encoder.encode(canvas, changed: lane.changed, at: now, request)
        } catch {
            counters.with { $0.skipped += 1 }
            failed(SourceFailure(.unsupported, "the encoder gave up: \(error.message)"))
            controls.with { $0.isStopped = true }
            return
        }
        let spent = clock() - now
        guard let frame else {
            counters.with { $0.skipped += 1 }
            return
        }
        lane.hasChanges = false
        lane.changed.clear()
        if frame.isKeyframe {
            lane.lastKeyframe = now
            controls.with {
                $0[lane.id].isKeyframeWanted = false
                $0[lane.id].isPictureAwaited = false
                $0[lane.id].noteRecovery()
            }
        }
        if frame.references.recovered != nil {
            lane.lastRecovery = now
            controls.with { $0[lane.id].noteRecovery() }
        }
        if frame.isKeyframe || frame.references.stored != nil { lane.lastStored = now }
        let size = canvas.size
        counters.with {
            $0.frames += 1
            $0.refinements += isRefinement && !isRest ? 1 : 0
            $0.keyframes += frame.isKeyframe ? 1 : 0
            $0.recoveries += frame.references.recovered != nil ? 1 : 0
            $0.upperLayerFrames += frame.layer > 0 ? 1 : 0
            $0.lowFrames += lane.id == .low ? 1 : 0
            $0.bytes += frame.bytes.count
            $0.encodeNanoseconds += spent.nanoseconds
            $0.size = size
        }
        let info = FrameInfo(
            isKeyframe: frame.isKeyframe, encoding: lane.id, layer: frame.layer, captured: captured,
            changedSince: lane.changedSince, references: frame.references)
        if frames[lane.id].push(frame.bytes, info) {
            if !lane.encoder.isBehind { lane.changedSince = nil }
            framesReady()
        } else {
            counters.with { $0.skipped += 1 }
            // The next frame would refer to one that nobody got.
            if frame.layer == 0 { controls.with { $0[lane.id].isKeyframeWanted = true } }
        }
    }
}
