import MediaCore
import VideoBitstream

/// Frames that move what the viewers have: scrolling and dragging for a few hundred bytes.
extension VP8Encoder {
    /// Makes a copy frame if much of what the base layer lacks has only moved. The rest is due at once.
    /// - Returns: nil if little has moved.
    func encodeCopy(_ core: VP8EncoderCore, _ input: I420Frame, _ request: VideoEncodeRequest) -> EncodedFrame? {
        // A frame names one buffer that it is stored in besides the last frame's.
        guard usesCopyFrames, !request.isRefinement, core.buffersOfLastFrame.count < 2 else { return nil }
        guard copies?.plan(input, missing: base.missingBlocks) == true else { return nil }
        guard let moved = copies?.frame, let bytes = try? core.encode(moved) else {
            // libvpx gives its buffers to nobody: all is coded as before.
            usesCopyFrames = false
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
        if missing.isEmpty { progressiveUpdate.end() } else { continuesAtOnce = true }
        return frame
    }
}
