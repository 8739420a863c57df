internal import CVPX
public import MediaCore

/// VP8 encoder for screen content on libvpx: one pass, real time, no lag, key frames on request only. It codes only the
/// blocks that changed (active map).
///
/// The first encoding of a change fits its byte budget. Blocks that are soft afterwards are sharpened once they rest,
/// by refinement frames or along with other frames that have bytes to spare.
/// - Isolation: confined to one thread.
public final class VP8Encoder: VideoEncoder {
    /// A change takes effect with the next frame.
    public var contentHint = ContentHint.text

    var ownFrames = OwnFrames()
    private let threads: Int
    private var core: VP8EncoderCore?
    var blockQuality: BlockQualityMap?
    /// The blocks that the current frame codes. It is a property so that its memory is reused.
    var active = BlockMap(PixelSize(width: 0, height: 0))
    var sizePredictor = FrameSizePredictor()
    var bucket = FrameByteBudget()
    var base = TemporalBaseLayer()
    var continuousChange = ContinuousChangeDetector()
    var progressiveUpdate = ProgressiveUpdate()
    var longTermReferences = LongTermReferences()
    var regions = RegionPlan()
    var copies: CopyFramePlan?
    /// The last frame was a copy frame, and what it could not move is due at once.
    public internal(set) var continuesAtOnce = false

    /// - Parameter threads: 1...4. libvpx's threads wait for each other by spinning: on two busy cores a frame took
    ///   250 ms with two threads, 3 ms with one.
    public init(threads: Int = 1) { self.threads = min(max(threads, 1), 4) }

    /// nil before the first frame, and when every block is as sharp as the source.
    public var unrefined: BlockMap? {
        guard let blockQuality, blockQuality.unrefinedCount > 0, core?.isFresh == false else { return nil }
        return blockQuality.unrefined
    }

    public var hasUncodedChanges: Bool { base.hasUncodedChanges && core?.isFresh == false }

    public func makeAnother() -> any VideoEncoder {
        let other = VP8Encoder(threads: threads)
        other.ownFrames = ownFrames
        return other
    }

    public func encode(
        _ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest
    ) throws(CodecFailure) -> EncodedFrame? {
        precondition(changed.size == canvas.size, "a map of \(changed.size) for a canvas of \(canvas.size)")
        let core = try prepare(for: canvas.size)
        longTermReferences.noteChange(changed)
        var frame = try encodeNext(core, canvas, changed: changed, at: instant, request)
        if request.allowsRecoveryFrames, frame?.isKeyframe == false {
            frame?.recoveryBytes = recoveryBytes(canvas.frame, at: instant, request)
        }
        return frame
    }

    /// Predicts the size of a recovery frame at the highest quantizer, which it gets where the bitrate is low.
    private func recoveryBytes(_ input: I420Frame, at instant: MediaInstant, _ request: VideoEncodeRequest) -> Int {
        let (changes, count) = longTermReferences.mostChanges
        if let last = sizePredictor.recovery, instant - last.instant < .milliseconds(250),
            abs(count - last.blocks) * 8 <= count
        {
            return last.bytes
        }
        let content = ContentClassifier(input, changes)
        let range = Budget(request.bitrate, nil, contentHint).range(content, isKeyframe: false)
        let bytes = sizePredictor.bytes(
            for: content, of: changes.blocks.count, quantizer: range.upperBound, at: instant)
        sizePredictor.recovery = (bytes, count, instant)
        return bytes
    }

    private func encodeNext(
        _ core: VP8EncoderCore, _ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant,
        _ request: VideoEncodeRequest
    ) throws(CodecFailure) -> EncodedFrame? {
        ownFrames.begin(request, isRest: continuesAtOnce)
        continuesAtOnce = false
        let whole = Budget(request.bitrate, request.byteBudget, contentHint)
        let baseBitrate = min(request.layering?.baseBitrate ?? request.bitrate, request.bitrate)
        let budget = request.layering == nil ? whole : Budget(baseBitrate, nil, contentHint, isLayered: true)
        sizePredictor.isLayered = request.layering != nil
        bucket.fill(at: instant, bitrate: request.bitrate, capacity: whole.burst)
        base.bucket.fill(at: instant, bitrate: baseBitrate, capacity: budget.burst)
        blockQuality?.noteChange(changed, at: instant)
        base.note(changed)
        if request.separatesRegions { regions.motion.note(changed, canvas.frame, at: instant) }
        if request.isKeyframeRequested || core.isFresh {
            return try encodeKeyframe(core, canvas.frame, at: instant, budget)
        }
        let plan = longTermReferences.plan(request)
        // It replaces what waits in the send queue.
        if plan.source != nil, request.layering?.isBaseBlocked != true {
            return try recover(core, canvas.frame, plan, at: instant, budget)
        }
        // The budget is overdrawn: a frame would only wait in the send queue. A frame of layer 1 may still be possible.
        if request.layering?.isBaseBlocked == true || base.bucket.credit <= -budget.debt {
            guard request.layering != nil, !request.isRefinement, bucket.credit > whole.share else { return nil }
            return changed.isEmpty
                ? nil : try encodeLayer1(core, canvas.frame, plan, at: instant, request.bitrate, whole)
        }
        if request.isRefinement, changed.isEmpty, !base.hasUncodedChanges {
            return try refine(core, canvas.frame, plan, at: instant, budget)
        }
        if let frame = encodeCopy(core, canvas.frame, plan, at: instant, request, budget) { return frame }
        if request.separatesRegions, request.layering == nil, progressiveUpdate.quantizer == nil,
            let region = planRegions(canvas.frame, request.bitrate, at: instant, budget)
        {
            return try encodeRegions(core, canvas.frame, plan, region, at: instant, request.bitrate)
        }
        return try encodeChange(core, canvas.frame, changed, plan, at: instant, request, budget)
    }

    public func canRecover(from number: UInt32) -> Bool { longTermReferences.slot(holding: number) != nil }

    /// Touches 55 MB for 1920 x 1080, of which 45 MB are returned.
    public func prepare(_ size: PixelSize) throws(CodecFailure) { _ = try prepare(for: size) }

    private func prepare(for size: PixelSize) throws(CodecFailure) -> VP8EncoderCore {
        if let core, core.size == size { return core }
        // The old encoder's memory is freed before the new one's is allocated.
        core = nil
        let new = try VP8EncoderCore(size, threads: threads)
        core = new
        blockQuality = BlockQualityMap(size, sharpQuantizer: Self.sharpQuantizer)
        active = BlockMap(size)
        base.restart(size)
        regions.restart(size)
        copies = ownFrames.hasCopies ? CopyFramePlan(size) : nil
        progressiveUpdate.end()
        sizePredictor.recovery = nil
        longTermReferences = LongTermReferences(size, next: longTermReferences.nextNumber)
        return new
    }

    /// The highest quantizer at which a block is indistinguishable from its source: at least 46 dB on small text.
    static let sharpQuantizer = 6
    /// The quantizer of refinement frames: about 51 dB.
    static let refiningQuantizer = 4

    private func encodeKeyframe(
        _ core: VP8EncoderCore, _ input: I420Frame, at instant: MediaInstant, _ budget: Budget
    ) throws(CodecFailure) -> EncodedFrame? {
        let content = ContentClassifier(input, nil)
        let quantizer = sizePredictor.quantizer(
            for: content, of: content.blocks, isKeyframe: true, budget: budget.burst,
            in: budget.range(content, isKeyframe: true), at: instant)
        let settings = VP8FrameSettings(quantizer: quantizer, isKeyframe: true, search: content.search)
        guard var frame = try core.encode(input, active: nil, at: instant, settings) else { return nil }
        spend(frame, input, isWhole: true)
        blockQuality?.noteKeyframe(quantizer: frame.quantizer)
        frame.references = longTermReferences.noteKeyframe(blockQuality)
        sizePredictor.learn(
            from: content, of: content.blocks, isKeyframe: true, quantizer: frame.quantizer, bytes: frame.bytes.count,
            at: instant)
        return frame
    }

    /// Encodes a recovery frame: predicted from one long-term reference only, with all blocks that changed since.
    /// Blocks that were only refined since are soft again, and will be refined again.
    private func recover(
        _ core: VP8EncoderCore, _ input: I420Frame, _ plan: LongTermReferences.Plan, at instant: MediaInstant,
        _ budget: Budget
    ) throws(CodecFailure) -> EncodedFrame? {
        guard let source = plan.source else { return nil }
        active.clear()
        longTermReferences.addChanges(since: source, to: &active)
        let content = ContentClassifier(input, active)
        let total = active.blocks.count
        let quantizer = sizePredictor.quantizer(
            for: content, of: total, isKeyframe: false,
            budget: budget.bytes(credit: base.bucket.credit),
            in: budget.range(content, isKeyframe: false), at: instant)
        let settings = VP8FrameSettings(
            quantizer: quantizer, isKeyframe: false, search: content.search, source: source, stored: plan.stored,
            refreshesEntropy: false)
        guard var frame = try core.encode(input, active: active, at: instant, settings) else { return nil }
        spend(frame, input, isWhole: true)
        blockQuality?.restore(longTermReferences.quantizers(of: source))
        blockQuality?.noteEncoded(active, quantizer: frame.quantizer)
        frame.references = longTermReferences.note(plan, blockQuality)
        return frame
    }

    /// Encodes the blocks in `active` as a base frame according to `plan`.
    func encodeActive(
        _ core: VP8EncoderCore, _ input: I420Frame, _ plan: LongTermReferences.Plan, at instant: MediaInstant,
        _ quantizer: Int, _ search: MotionSearch
    ) throws(CodecFailure) -> EncodedFrame? {
        let settings = VP8FrameSettings(
            quantizer: quantizer, isKeyframe: false, search: search, stored: plan.stored,
            refreshesEntropy: plan.refreshesEntropy)
        var made = isUpdate(core, settings) ? makeUpdate(core, input, quantizer: quantizer) : nil
        if made == nil { made = try core.encode(input, active: active, at: instant, settings) }
        guard var frame = made else { return nil }
        spend(frame, input)
        blockQuality?.noteEncoded(active, quantizer: frame.quantizer)
        frame.references = longTermReferences.note(plan, blockQuality)
        return frame
    }

    /// Charges a frame to the budgets. A base frame counts for both layers and brings the base the blocks in `active`;
    /// a key frame brings all.
    /// - Parameter isWhole: the viewers have the whole canvas after it, except for what the base still lacks.
    func spend(_ frame: EncodedFrame, _ input: I420Frame, isWhole: Bool = false) {
        bucket.spend(frame.bytes.count)
        guard frame.layer == 0 else { return }
        base.bucket.spend(frame.bytes.count)
        if frame.isKeyframe { base.noteKeyframe() } else { base.noteEncoded(active) }
        copies?.note(input, coded: isWhole ? nil : active)
        if !base.hasUncodedChanges { progressiveUpdate.end() }
    }

    private func refine(
        _ core: VP8EncoderCore, _ input: I420Frame, _ plan: LongTermReferences.Plan, at instant: MediaInstant,
        _ budget: Budget
    ) throws(CodecFailure) -> EncodedFrame? {
        guard let unrefinedCount = blockQuality?.unrefinedCount, unrefinedCount > 0 else { return nil }
        // Each frame has a fixed cost, so refinement waits for a worthwhile budget.
        guard base.bucket.credit >= min(budget.burst, 3 * budget.share) else { return nil }
        active.clear()
        // A copy of `blockQuality` that lives on here would make `noteEncoded` copy its arrays.
        let added = blockQuality?.addBatch(
            to: &active, byteBudget: max(base.bucket.credit, Self.smallestBatchBytes), at: instant)
        guard let added, added > 0 else { return nil }
        let made = try encodeActive(core, input, plan, at: instant, Self.refiningQuantizer, .wide)
        guard let frame = made else { return nil }
        blockQuality?.noteCost(blocks: added, bytes: frame.bytes.count)
        return frame
    }

    /// The most expensive block fits into this many bytes.
    private static let smallestBatchBytes = 1_600
}
