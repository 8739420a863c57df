import MediaCore
import VideoBitstream

/// Frames that move what the viewers have: scrolling and dragging for a few hundred bytes.
extension VP8Encoder {
    /// Makes a copy frame if much of what the base layer lacks has only moved. The rest is due at once.
    /// - Returns: nil if little has moved.
    func encodeCopy(
        _ core: VP8EncoderCore, _ input: I420Frame, at instant: MediaInstant, _ request: VideoEncodeRequest
    ) -> EncodedFrame? {
        // A frame names one buffer that it is stored in besides the last frame's.
        guard !request.isRefinement, core.buffersOfLastFrame.count < 2 else { return nil }
        // Viewers of layer 1 have seen more than the base layer has, and would see that go.
        guard request.layering == nil || !base.hasUncodedChanges else { return nil }
        let film = regions.motion.count > 0 ? regions.motion.blocks : nil
        guard copies?.plan(input, missing: base.missingBlocks, film: film, at: instant) == true else { return nil }
        guard let moved = copies?.frame, let bytes = try? core.encode(moved) else {
            // libvpx gives its buffers to nobody: all is coded as before.
            copies = nil
            return nil
        }
        var missing = base.missingBlocks
        copies?.apply(input, missing: &missing, quality: &blockQuality)
        var frame = EncodedFrame(bytes: bytes, isKeyframe: false, quantizer: core.lastQuantizer)
        bucket.spend(bytes.count)
        base.bucket.spend(bytes.count)
        base.noteMoved(missing: missing)
        frame.references = longTermReferences.noteCopy(
            in: core.buffersOfLastFrame.first, missing: missing, blockQuality)
        continuesAtOnce = !missing.isEmpty
        // Bands of something that is about to change again are not worth going on with.
        if missing.isEmpty || missing.count * 5 > missing.blocks.count * 2 { progressiveUpdate.end() }
        return frame
    }
}
