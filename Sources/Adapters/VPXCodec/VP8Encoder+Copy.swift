import MediaCore
import VideoBitstream

/// Frames that move what the viewers have: scrolling and dragging for a few hundred bytes.
extension VP8Encoder {
    /// Makes a copy frame if much of what the base layer lacks has only moved. A small rest is coded along with it, any
    /// other is due at once.
    /// - Returns: nil if little has moved.
    func encodeCopy(
        _ core: VP8EncoderCore, _ input: I420Frame, _ plan: LongTermReferences.Plan, at instant: MediaInstant,
        _ request: VideoEncodeRequest, _ budget: Budget
    ) -> EncodedFrame? {
        // A frame names one buffer that it is stored in besides the last frame's.
        guard !request.isRefinement, core.buffersOfLastFrame.count < 2 else { return nil }
        // Viewers of layer 1 have seen more than the base layer has, and would see that go.
        guard request.layering == nil || !base.hasUncodedChanges else { return nil }
        let film = regions.motion.count > 0 ? regions.motion.blocks : nil
        guard copies?.plan(input, missing: base.missingBlocks, film: film, at: instant) == true else { return nil }
        guard let moved = copies?.frame, let entropy = try? core.readLastFrame() else {
            // libvpx gives its buffers to nobody: all is coded as before.
            copies = nil
            return nil
        }
        var missing = base.missingBlocks
        copies?.apply(input, missing: &missing, quality: &blockQuality)
        base.noteMoved(missing: missing)
        if let frame = encodeRest(core, input, of: moved, plan, at: instant, request, budget) { return frame }
        let bytes = core.encode(moved, entropy)
        var frame = EncodedFrame(bytes: bytes, isKeyframe: false, quantizer: core.lastQuantizer)
        bucket.spend(bytes.count)
        base.bucket.spend(bytes.count)
        frame.references = longTermReferences.noteCopy(
            in: core.buffersOfLastFrame.first, missing: missing, blockQuality)
        continuesAtOnce = !missing.isEmpty
        // Bands of something that is about to change again are not worth going on with.
        if missing.isEmpty || missing.count * 5 > missing.blocks.count * 2 { progressiveUpdate.end() }
        return frame
    }

    /// Codes what a copy frame lacks in the same frame, if that is as little as an update frame may have.
    private func encodeRest(
        _ core: VP8EncoderCore, _ input: I420Frame, of moved: VP8CopyFrame, _ plan: LongTermReferences.Plan,
        at instant: MediaInstant, _ request: VideoEncodeRequest, _ budget: Budget
    ) -> EncodedFrame? {
        // In a row of such frames each would replace the reference that the last frame is stored in.
        guard plan.stored == nil, core.buffersOfLastFrame.isEmpty, moved.areVectorsNear, regions.motion.count == 0,
            ownFrames.allows(blocks: base.missingBlocks.count, quantizer: 0)
        else { return nil }
        let bytes = budget.bytes(credit: base.bucket.credit)
        let change = measureChange(input, bytes: bytes, budget, at: instant)
        guard ownFrames.allows(blocks: active.count, quantizer: change.quantizer),
            var frame = makeUpdate(core, input, quantizer: change.quantizer, after: moved)
        else { return nil }
        spend(frame, input)
        blockQuality?.noteEncoded(active, quantizer: frame.quantizer)
        frame.references = longTermReferences.noteCopy(in: nil, missing: base.missingBlocks, blockQuality)
        // A block that has moved takes half a bit, 0.3 bits more than one that rests.
        let movedBytes = moved.vectors.count { $0 != .zero } * 3 / 80
        noteChange(change, bytes: frame.bytes.count - movedBytes, frame.quantizer, request.bitrate, at: instant)
        return frame
    }
}
