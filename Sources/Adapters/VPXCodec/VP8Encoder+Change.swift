import MediaCore

/// Frames that code a change: whole, in bands, or in layer 1.
extension VP8Encoder {
    /// The blocks to code and how to code them.
    struct Change {
        var content: ContentClassifier
        var isContinuous: Bool
        var quantizer: Int

        var search: MotionSearch { isContinuous ? .fastest : content.search }
    }

    /// Sets `active` to the blocks that the base layer lacks. Chooses the lowest quantizer at which they fit into
    /// `bytes`.
    /// - Parameter changed: the blocks that changed since the last frame; nil to count all of `active`.
    func measureChange(
        _ input: I420Frame, _ changed: BlockMap? = nil, bytes: Int, _ budget: Budget, at instant: MediaInstant
    ) -> Change {
        active.clear()
        active.formUnion(base.missingBlocks)
        let content = ContentClassifier(input, active)
        let total = active.blocks.count
        let isContinuous = continuousChange.isContinuous(
            blocks: changed?.count ?? content.blocks, of: total, at: instant)
        let quantizer = sizePredictor.quantizer(
            for: content, of: total, isKeyframe: false, budget: bytes,
            in: budget.range(content, isKeyframe: false, isContinuous: isContinuous), at: instant)
        return Change(content: content, isContinuous: isContinuous, quantizer: quantizer)
    }

    /// - Parameter bytes: what it took.
    func noteChange(
        _ change: Change, bytes: Int, _ quantizer: Int, _ bitrate: Bitrate, at instant: MediaInstant,
        isPure: Bool = true
    ) {
        let total = active.blocks.count
        continuousChange.note(
            blocks: change.content.blocks, of: total, bytes: bytes, bitrate: bitrate, at: instant)
        guard isPure else { return }
        sizePredictor.learn(
            from: change.content, of: total, isKeyframe: false, quantizer: quantizer, bytes: bytes,
            mayGrow: !ownFrames.isUpdate, at: instant)
    }

    func encodeChange(
        _ core: VP8EncoderCore, _ input: I420Frame, _ changed: BlockMap, _ plan: LongTermReferences.Plan,
        at instant: MediaInstant, _ request: VideoEncodeRequest, _ budget: Budget
    ) throws(CodecFailure) -> EncodedFrame? {
        let bytes = budget.bytes(credit: base.bucket.credit)
        // While bands are outstanding, only blocks that changed since the last frame count as a change.
        let change = measureChange(
            input, progressiveUpdate.quantizer == nil ? nil : changed, bytes: bytes, budget, at: instant)
        if request.layering == nil, let quantizer = bandQuantizer(change, request.bitrate, budget, at: instant) {
            return try encodeBand(core, input, plan, at: instant, quantizer, request.bitrate)
        }
        progressiveUpdate.end()
        var added = 0
        if change.quantizer <= Self.sharpQuantizer, let blockQuality, blockQuality.unrefinedCount > 0 {
            // The budget has room, so soft blocks elsewhere are refined in the same frame.
            added = blockQuality.addBatch(to: &active, byteBudget: bytes / 4, at: instant)
        }
        let made = try encodeActive(core, input, plan, at: instant, change.quantizer, change.search)
        guard let frame = made else { return nil }
        noteChange(
            change, bytes: frame.bytes.count, frame.quantizer, request.bitrate, at: instant, isPure: added == 0)
        return frame
    }

    /// Returns the quantizer of the next band, or nil if the change is to be sent in one frame.
    private func bandQuantizer(
        _ change: Change, _ bitrate: Bitrate, _ budget: Budget, at instant: MediaInstant
    ) -> Int? {
        guard !change.isContinuous, contentHint == .text else { return nil }
        if let quantizer = progressiveUpdate.quantizer { return quantizer }
        let total = active.blocks.count
        let bytes = sizePredictor.bytes(for: change.content, of: total, quantizer: change.quantizer, at: instant)
        guard change.content.isDrawn, ProgressiveUpdate.isWorthSplitting(for: bytes, at: bitrate) else { return nil }
        let quantizer = sizePredictor.quantizer(
            for: change.content, of: total, isKeyframe: false, budget: ProgressiveUpdate.wholeBudget(at: bitrate),
            in: Self.sharpQuantizer...ProgressiveUpdate.worstQuantizer, at: instant)
        progressiveUpdate.begin(quantizer: quantizer)
        // A similar change soon after this one starts a series.
        continuousChange.note(blocks: change.content.blocks, of: total, bytes: bytes, bitrate: bitrate, at: instant)
        return quantizer
    }

    /// Rows of a map that are coded in one frame.
    struct Rows {
        /// The rows of the band itself.
        var content = ContentClassifier()
        /// Other rows, which cost next to nothing.
        var others = ContentClassifier()
        /// The row that the next band begins at.
        var end: Int
    }

    /// Keeps as many rows of a map as fit, from one on, or from the top if there is nothing below. What changes a
    /// little again and again in other rows, as typed text does, is kept, too: it would otherwise wait for all of a
    /// page each time.
    /// - Parameters:
    ///   - bytes: of the rows as they are predicted; the last one may exceed them.
    ///   - most: the bytes of all other rows that are kept; each of them has a quarter at most.
    func keepRows(
        of map: inout BlockMap, from row: Int, _ input: I420Frame, _ quantizer: Int, bytes: Int, most: Int,
        at instant: MediaInstant
    ) -> Rows {
        var rows = Rows(end: row)
        var begin = row
        for start in [row, 0] where rows.content.blocks == 0 {
            (begin, rows.end) = (start, start)
            while rows.end < map.rows,
                sizePredictor.bytes(for: rows.content, of: 0, quantizer: quantizer, at: instant) < bytes
            {
                rows.content += ContentClassifier(input, map, rows: rows.end..<rows.end + 1)
                rows.end += 1
            }
        }
        var spent = 0
        for row in 0..<map.rows where !(begin..<rows.end).contains(row) {
            let content = ContentClassifier(input, map, rows: row..<row + 1)
            guard content.blocks > 0 else { continue }
            let cost = sizePredictor.bytes(for: content, of: 0, quantizer: quantizer, at: instant) + content.blocks
            if cost * 4 <= most, spent + cost <= most {
                rows.others += content
                spent += cost
            } else {
                map.remove(row: row)
            }
        }
        return rows
    }

    /// Encodes the next rows of `active`, and cheap ones, as one frame.
    private func encodeBand(
        _ core: VP8EncoderCore, _ input: I420Frame, _ plan: LongTermReferences.Plan, at instant: MediaInstant,
        _ quantizer: Int, _ bitrate: Bitrate
    ) throws(CodecFailure) -> EncodedFrame? {
        let budget = progressiveUpdate.budget(at: bitrate)
        let search = progressiveUpdate.search(at: bitrate)
        let rows = keepRows(
            of: &active, from: progressiveUpdate.row, input, quantizer, bytes: budget, most: budget / 2, at: instant)
        if rows.content.blocks > 0 { progressiveUpdate.advance(to: rows.end) }
        var plan = plan
        // Only a complete frame is worth storing as a long-term reference.
        if active != base.missingBlocks { plan.stored = nil }
        let begin = ContinuousClock.now
        guard let frame = try encodeActive(core, input, plan, at: instant, quantizer, search) else { return nil }
        guard !ownFrames.isUpdate else { return frame }
        progressiveUpdate.note(search, .now - begin, bytes: frame.bytes.count)
        // The other rows say little of new content: they cost less than predicted, as some of them change all the time.
        guard rows.others.blocks == 0 else { return frame }
        sizePredictor.learn(
            fromNew: rows.content, of: active.blocks.count, quantizer: frame.quantizer, bytes: frame.bytes.count)
        return frame
    }

    /// Encodes all blocks that the base layer lacks as a frame of layer 1, for viewers with enough bandwidth.
    func encodeLayer1(
        _ core: VP8EncoderCore, _ input: I420Frame, _ plan: LongTermReferences.Plan, at instant: MediaInstant,
        _ bitrate: Bitrate, _ budget: Budget
    ) throws(CodecFailure) -> EncodedFrame? {
        let change = measureChange(input, bytes: min(bucket.credit, budget.burst), budget, at: instant)
        let settings = VP8FrameSettings(
            quantizer: change.quantizer, isKeyframe: false, search: change.search, isDisposable: true,
            refreshesEntropy: plan.refreshesEntropy)
        guard var frame = try core.encode(input, active: active, at: instant, settings) else { return nil }
        spend(frame, input)
        frame.references = longTermReferences.noteDisposable()
        base.recordLayer1()
        noteChange(change, bytes: frame.bytes.count, frame.quantizer, bitrate, at: instant)
        return frame
    }
}
