public import MediaCore

/// A VP8 inter frame that shows the last frame once more: every macroblock is skipped (RFC 6386 sections 9 and 19).
///
/// It refers to the last frame only, no frame refers to it, and it does not change the decoder's state: no buffer is
/// refreshed, and the probabilities are restored after it. It is therefore sent only to viewers that request a key
/// frame after some seconds without a frame.
public enum VP8SkipFrame {
    /// Makes the frame; about 200 bytes for 1920 x 1080.
    /// - Parameters:
    ///   - size: the size of the last key frame, in pixels, 1...16383 each.
    ///   - version: the version of the last key frame, 0...3.
    public static func make(_ size: PixelSize, version: UInt8) -> [UInt8] {
        precondition((1...16_383).contains(size.width) && (1...16_383).contains(size.height), "a frame of \(size)")
        var encoder = VP8BoolEncoder()
        encoder.writeHeader(refreshesLast: false)
        encoder.writeNoCoefficients()
        var modes = VP8MacroblockModes(size)
        _ = modes.chooseVectorModes()
        // It uses none of the probabilities that a decoder keeps.
        modes.write(&encoder, VP8EntropyState())
        return encoder.frame(version: version)
    }
}
