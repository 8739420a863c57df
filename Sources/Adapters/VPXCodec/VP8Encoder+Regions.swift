import MediaCore

/// What a frame codes in each region. The maps are kept, so that their memory is reused.
struct RegionPlan {
    var motion = MotionRegions()
    /// Changed blocks beside the video.
    var text = BlockMap(PixelSize(width: 0, height: 0))
    /// Blocks that rest and are not sharp yet.
    var refined = BlockMap(PixelSize(width: 0, height: 0))
    /// Changed blocks of the video.
    var film = BlockMap(PixelSize(width: 0, height: 0))
    var segments = VP8Segments(map: [], quantizers: [])
    /// Of the video; the encoder's own predictor is for the text.
    var filmPredictor = FrameSizePredictor()

    mutating func restart(_ size: PixelSize) {
        motion.restart(size)
        text = BlockMap(size)
        refined = BlockMap(size)
        film = BlockMap(size)
        segments.map = [UInt8](repeating: 0, count: text.blocks.count)
    }
}

/// Frames that code a video and the text beside it with quantizers of their own. Text comes first: it is coded sharply, and what
/// is not sharp yet is refined while the video plays on with the rest of the bitrate. If there is no rest, the video waits.
extension VP8Encoder {
    /// A frame with regions: sizes in bytes are predictions.
    struct Regions {
        var text: (content: ContentClassifier, quantizer: Int, bytes: Int)
        var refined: (blocks: Int, bytes: Int)
        /// nil: the video waits.
        var film: (content: ContentClassifier, quantizer: Int, bytes: Int)?
    }

    /// The share of a frame's bytes that refinement gets.
    private static let refiningShare = 0.5
    /// The quantizers of video beside text: up to where it is coarse, and the frame rate falls.
    private static let filmRange = 20...56

    /// Divides `regions` by what is to be coded.
    /// - Returns: nil if no video plays, or if there is nothing to code beside it.
    func planRegions(_ input: I420Frame, at instant: MediaInstant, _ budget: Budget) -> Regions? {
        guard regions.motion.count > 0, let blockQuality else { return nil }
        let total = active.blocks.count
        let bytes = min(max(base.bucket.credit, budget.share), budget.burst)
        regions.text.clear()
        regions.text.formUnion(base.missingBlocks)
        regions.text.subtract(regions.motion.blocks)
        let text = ContentClassifier(input, regions.text)
        let isContinuous = continuousChange.isContinuous(blocks: text.blocks, of: total, at: instant)
        let range = isContinuous ? 40...63 : Self.sharpQuantizer...44
        let quantizer = sizePredictor.quantizer(
            for: text, of: 0, isKeyframe: false, budget: bytes, in: range, at: instant)
        let textBytes = sizePredictor.bytes(for: text, of: 0, quantizer: quantizer, at: instant)

        // The blocks that are not to be refined, and then those that are.
        regions.refined.clear()
        regions.refined.formUnion(base.missingBlocks)
        regions.refined.formUnion(regions.motion.blocks)
        let refiningBytes = min(Int(Double(bytes) * Self.refiningShare), bytes - textBytes)
        let added = blockQuality.addBatch(to: &regions.refined, byteBudget: refiningBytes, at: instant)
        guard text.blocks > 0 || added > 0 else { return nil }
        regions.refined.subtract(base.missingBlocks)
        regions.refined.subtract(regions.motion.blocks)
        let refinedBytes = Int(Double(added) * blockQuality.bytesPerBlock)

        var plan = Regions(text: (text, quantizer, textBytes), refined: (added, refinedBytes))
        regions.film.clear()
        regions.film.formUnion(base.missingBlocks)
        regions.film.formIntersection(regions.motion.blocks)
        let film = ContentClassifier(input, regions.film)
        guard film.blocks > 0 else { return plan }
        let room = bytes - textBytes - refinedBytes
        let filmQuantizer = regions.filmPredictor.quantizer(
            for: film, of: 0, isKeyframe: false, budget: room, in: Self.filmRange, at: instant)
        let filmBytes = regions.filmPredictor.bytes(for: film, of: 0, quantizer: filmQuantizer, at: instant)
        if filmBytes <= room || textBytes < bytes / 2 { plan.film = (film, filmQuantizer, filmBytes) }
        return plan
    }

    /// Encodes what `planRegions` has planned.
    func encodeRegions(
        _ core: VP8EncoderCore, _ input: I420Frame, _ references: LongTermReferences.Plan, _ plan: Regions,
        at instant: MediaInstant, _ bitrate: Bitrate
    ) throws(CodecFailure) -> EncodedFrame? {
        active.clear()
        active.formUnion(regions.text)
        active.formUnion(regions.refined)
        if plan.film != nil { active.formUnion(regions.film) }
        let quantizer = plan.film?.quantizer ?? plan.text.quantizer
        regions.segments.quantizers = [quantizer, plan.text.quantizer, Self.refiningQuantizer, quantizer]
        for index in regions.segments.map.indices {
            regions.segments.map[index] = regions.text.blocks[index] + 2 * regions.refined.blocks[index]
        }
        var references = references
        // Only a complete frame is worth storing as a long-term reference.
        if plan.film == nil, !regions.film.isEmpty { references.stored = nil }
        let settings = VP8FrameSettings(
            quantizer: quantizer, isKeyframe: false, search: plan.text.content.blocks > 0 ? .wide : .near,
            stored: references.stored, refreshesEntropy: references.refreshesEntropy)
        let made = try core.encode(
            input, active: active, segments: regions.segments, at: instant, settings)
        guard var frame = made else { return nil }
        spend(frame)
        if plan.film != nil { blockQuality?.noteEncoded(regions.film, quantizer: quantizer) }
        blockQuality?.noteEncoded(regions.text, quantizer: plan.text.quantizer)
        blockQuality?.noteEncoded(regions.refined, quantizer: Self.refiningQuantizer)
        frame.references = longTermReferences.note(references, blockQuality)
        learn(from: plan, frame.bytes.count, bitrate, at: instant)
        return frame
    }

    /// Divides the bytes of a frame among its regions as they were predicted, and adapts the predictions.
    private func learn(from plan: Regions, _ bytes: Int, _ bitrate: Bitrate, at instant: MediaInstant) {
        let predicted = plan.text.bytes + plan.refined.bytes + (plan.film?.bytes ?? 0)
        let factor = Double(bytes) / Double(max(predicted, 1))
        let textBytes = Int(Double(plan.text.bytes) * factor)
        continuousChange.note(
            blocks: plan.text.content.blocks, of: active.blocks.count, bytes: textBytes, bitrate: bitrate, at: instant)
        sizePredictor.learn(
            from: plan.text.content, of: 0, isKeyframe: false, quantizer: plan.text.quantizer, bytes: textBytes,
            at: instant)
        blockQuality?.noteCost(blocks: plan.refined.blocks, bytes: Int(Double(plan.refined.bytes) * factor))
        guard let film = plan.film else { return }
        regions.filmPredictor.learn(
            from: film.content, of: 0, isKeyframe: false, quantizer: film.quantizer,
            bytes: Int(Double(film.bytes) * factor), at: instant)
    }
}
