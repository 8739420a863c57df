import MediaCore

/// The maps of a frame's regions, kept so that their memory is reused, and the state of the video's region.
struct RegionPlan {
    var motion = MotionRegions()
    /// Changed blocks beside the video.
    var text = BlockMap(PixelSize(width: 0, height: 0))
    /// Blocks that rest and are not sharp yet.
    var refined = BlockMap(PixelSize(width: 0, height: 0))
    /// Blocks that may be refined, whether they rest already or not.
    var candidates = BlockMap(PixelSize(width: 0, height: 0))
    /// Changed blocks of the video.
    var film = BlockMap(PixelSize(width: 0, height: 0))
    var segments = VP8Segments(map: [], quantizers: [])
    /// Of the video, and of what is refined beside it; the encoder's own predictor is for the text.
    var filmPredictor = FrameSizePredictor()
    var refinementPredictor = FrameSizePredictor()
    /// When the video was coded last.
    var lastFilm = MediaInstant(nanoseconds: 0)
    /// The row of blocks with which text that does not fit into one frame goes on.
    var nextRow = 0

    mutating func restart(_ size: PixelSize) {
        motion.restart(size)
        text = BlockMap(size)
        refined = BlockMap(size)
        candidates = BlockMap(size)
        film = BlockMap(size)
        nextRow = 0
        segments.map = [UInt8](repeating: 0, count: text.blocks.count)
    }
}

/// Frames that code a video and the text beside it with quantizers of their own. Text comes first: it is coded sharply,
/// from top to bottom if it does not fit into one frame, and what is not sharp yet is refined while the video plays on
/// with the rest of the bitrate. Where the rest is not enough, the frame rate of the video falls.
extension VP8Encoder {
    /// The content and the quantizer of each region of a frame, and its size in bytes as it is predicted.
    struct Regions {
        var text: (content: ContentClassifier, quantizer: Int, bytes: Int)
        var refined = (content: ContentClassifier(), quantizer: VP8Encoder.refiningQuantizer, bytes: 0)
        /// nil: the video waits.
        var film: (content: ContentClassifier, quantizer: Int, bytes: Int)?
    }

    /// The least share of a frame's bytes that the video gets, if it fits in there.
    private static let filmShare = 0.25
    /// The quantizers of video beside text: up to where it is coarse, and its frame rate falls.
    private static let filmRange = 20...56
    /// Unless the video is due, it waits for a frame that has room for this quantizer.
    private static let goodFilm = 50
    /// How long the video waits for text.
    private static let filmPatience = MediaDuration.milliseconds(120)

    /// Divides `regions` by what is to be coded.
    /// - Returns: nil if no video plays, or if there is nothing to code beside it.
    func planRegions(_ input: I420Frame, _ bitrate: Bitrate, at instant: MediaInstant, _ budget: Budget) -> Regions? {
        guard regions.motion.count > 0 else { return nil }
        let bytes = budget.bytes(credit: base.bucket.credit)
        regions.film.clear()
        regions.film.formUnion(base.missingBlocks)
        regions.film.formIntersection(regions.motion.blocks)
        let film = ContentClassifier(input, regions.film)
        let leastFilm = regions.filmPredictor.bytes(
            for: film, of: 0, quantizer: Self.filmRange.upperBound, at: instant)
        let isFilmDue = instant - regions.lastFilm >= Self.filmPatience
        let share = Int(Double(bytes) * Self.filmShare)
        let reserved = film.blocks == 0 ? 0 : isFilmDue ? max(leastFilm, share) : share

        // Text goes on by a row at least, whatever the video needs.
        let textRoom = max(bytes - reserved, bytes / 4, 1)
        var plan = Regions(text: planText(input, bitrate, bytes: bytes, room: textRoom, at: instant))
        planRefinement(input, &plan, room: min(bytes - share, bytes - reserved - plan.text.bytes), at: instant)
        guard plan.text.content.blocks > 0 || plan.refined.content.blocks > 0 else { return nil }
        let room = bytes - plan.text.bytes - plan.refined.bytes
        let goodFilm = regions.filmPredictor.bytes(for: film, of: 0, quantizer: Self.goodFilm, at: instant)
        guard film.blocks > 0, isFilmDue || goodFilm <= room else { return plan }
        let quantizer = regions.filmPredictor.quantizer(
            for: film, of: 0, isKeyframe: false, budget: room, in: Self.filmRange, at: instant)
        let filmBytes = regions.filmPredictor.bytes(for: film, of: 0, quantizer: quantizer, at: instant)
        plan.film = (film, quantizer, filmBytes)
        return plan
    }

    /// Sets `regions.text` to the changed blocks beside the video, or to as many rows of them as fit, and cheap ones.
    /// - Parameters:
    ///   - bytes: of a frame of text that changes again and again.
    ///   - room: of a frame of new text.
    private func planText(
        _ input: I420Frame, _ bitrate: Bitrate, bytes: Int, room: Int, at instant: MediaInstant
    ) -> (content: ContentClassifier, quantizer: Int, bytes: Int) {
        regions.text.clear()
        regions.text.formUnion(base.missingBlocks)
        regions.text.subtract(regions.motion.blocks)
        let all = ContentClassifier(input, regions.text)
        let isContinuous = continuousChange.isContinuous(
            blocks: all.blocks, of: regions.text.blocks.count, at: instant)
        // What new text lacks in sharpness follows as refinement, when all can be read.
        let quantizer = sizePredictor.quantizer(
            for: all, of: 0, isKeyframe: false,
            budget: isContinuous ? bytes : ProgressiveUpdate.wholeBudget(at: bitrate),
            in: isContinuous ? 40...63 : Self.sharpQuantizer...ProgressiveUpdate.worstQuantizer, at: instant)
        let predicted = sizePredictor.bytes(for: all, of: 0, quantizer: quantizer, at: instant)
        guard !isContinuous, predicted > room + room / 4 else {
            regions.nextRow = 0
            return (all, quantizer, predicted)
        }
        let rows = keepRows(
            of: &regions.text, from: regions.nextRow, input, quantizer, bytes: room, most: room / 8, at: instant)
        if rows.content.blocks > 0 { regions.nextRow = rows.end }
        var content = rows.content
        content += rows.others
        return (content, quantizer, sizePredictor.bytes(for: content, of: 0, quantizer: quantizer, at: instant))
    }

    /// Sets `regions.refined` to the worst blocks that rest beside the video, as many as fit. Coarse blocks first become
    /// good everywhere, and then sharp.
    private func planRefinement(_ input: I420Frame, _ plan: inout Regions, room: Int, at instant: MediaInstant) {
        regions.refined.clear()
        guard let blockQuality, blockQuality.unrefinedCount > 0, room > 0 else { return }
        regions.candidates.clear()
        regions.candidates.formUnion(blockQuality.unrefined)
        regions.candidates.subtract(base.missingBlocks)
        regions.candidates.subtract(regions.motion.blocks)
        let quantizers = blockQuality.quantizers
        func isCoarse(_ index: Int) -> Bool { quantizers[index] > Self.coarseQuantizer }
        let hasCoarse = quantizers.indices.contains { regions.candidates.blocks[$0] != 0 && isCoarse($0) }
        if hasCoarse {
            for index in quantizers.indices where !isCoarse(index) { regions.candidates.blocks[index] = 0 }
        }
        let quantizer = hasCoarse ? Self.goodQuantizer : Self.refiningQuantizer
        let all = ContentClassifier(input, regions.candidates)
        let bytes = predictRefinement(all, quantizer, at: instant)
        let most = bytes > room ? max(all.blocks * room / bytes, 1) : all.blocks
        guard blockQuality.addBatch(to: &regions.refined, of: regions.candidates, most: most, at: instant) > 0 else {
            return
        }
        let content = ContentClassifier(input, regions.refined)
        plan.refined = (content, quantizer, predictRefinement(content, quantizer, at: instant))
    }

    private func predictRefinement(_ content: ContentClassifier, _ quantizer: Int, at instant: MediaInstant) -> Int {
        regions.refinementPredictor.bytes(for: content, of: 0, quantizer: quantizer, at: instant)
    }

    private static let coarseQuantizer = 26
    private static let goodQuantizer = 16

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
        regions.segments.quantizers = [quantizer, plan.text.quantizer, plan.refined.quantizer, quantizer]
        for index in regions.segments.map.indices {
            regions.segments.map[index] = regions.text.blocks[index] + 2 * regions.refined.blocks[index]
        }
        var references = references
        // Only a complete frame is worth storing as a long-term reference.
        if !active.isSuperset(of: base.missingBlocks) { references.stored = nil }
        let settings = VP8FrameSettings(
            quantizer: quantizer, isKeyframe: false, search: plan.text.content.blocks > 0 ? .wide : .near,
            stored: references.stored, refreshesEntropy: references.refreshesEntropy)
        let made = try core.encode(
            input, active: active, segments: regions.segments, at: instant, settings)
        guard var frame = made else { return nil }
        spend(frame, input)
        if plan.film != nil || regions.film.isEmpty { regions.lastFilm = instant }
        if plan.film != nil { blockQuality?.noteEncoded(regions.film, quantizer: quantizer) }
        blockQuality?.noteEncoded(regions.text, quantizer: plan.text.quantizer)
        blockQuality?.noteEncoded(regions.refined, quantizer: plan.refined.quantizer)
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
        if plan.refined.content.blocks > 0 {
            regions.refinementPredictor.learn(
                from: plan.refined.content, of: 0, isKeyframe: false, quantizer: plan.refined.quantizer,
                bytes: Int(Double(plan.refined.bytes) * factor), mayGrow: false, at: instant)
        }
        guard let film = plan.film else { return }
        regions.filmPredictor.learn(
            from: film.content, of: 0, isKeyframe: false, quantizer: film.quantizer,
            bytes: Int(Double(film.bytes) * factor), at: instant)
    }
}
