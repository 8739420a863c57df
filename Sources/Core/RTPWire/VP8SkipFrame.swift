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
        writeHeader(into: &encoder)
        writeMacroblocks((size.width &+ 15) / 16, (size.height &+ 15) / 16, into: &encoder)
        encoder.finish()
        // An inter frame, shown, with the length of the first partition; the second partition is never read.
        let tag = UInt32(truncatingIfNeeded: encoder.bytes.count) << 5 | 1 << 4 | UInt32(version & 3) << 1 | 1
        let start = [0, 8, 16].map { UInt8(truncatingIfNeeded: tag >> $0) }
        return start + encoder.bytes + [0, 0, 0, 0]
    }

    /// RFC 6386 section 19.2.
    private static func writeHeader(into encoder: inout VP8BoolEncoder) {
        // No segments; the loop filter's type, level 0, sharpness 0, no adjustments; one partition of coefficients.
        encoder.write(literal: 0, bits: 1 + 1 + 6 + 3 + 1 + 2)
        // The quantizer's index, which is not used, and no deltas.
        encoder.write(literal: 0, bits: 7 + 5)
        // Golden and altref are neither refreshed nor copied into; no sign bias.
        encoder.write(literal: 0, bits: 1 + 1 + 2 + 2 + 1 + 1)
        // Probabilities are not kept, the last frame is not refreshed.
        encoder.write(literal: 0, bits: 1 + 1)
        for row in coefficientUpdates {
            for index in 0..<11 { encoder.write(false, probability: index < row.count ? row[index] : 255) }
        }
        // Macroblocks may be skipped, and nearly all are; all are predicted from the last frame.
        encoder.write(literal: 1, bits: 1)
        encoder.write(literal: rare, bits: 8)
        encoder.write(literal: rare, bits: 8)
        encoder.write(literal: frequent, bits: 8)
        encoder.write(literal: 128, bits: 8)
        // The probabilities of intra modes are not updated.
        encoder.write(literal: 0, bits: 2)
        for probability in motionUpdates { encoder.write(false, probability: probability) }
    }

    private static let rare: UInt32 = 1
    private static let frequent: UInt32 = 255

    /// RFC 6386 section 19.3: skipped, inter, the last frame, no motion.
    private static func writeMacroblocks(_ columns: Int, _ rows: Int, into encoder: inout VP8BoolEncoder) {
        for row in 0..<rows {
            for column in 0..<columns {
                encoder.write(true, probability: UInt8(rare))
                encoder.write(true, probability: UInt8(rare))
                encoder.write(false, probability: UInt8(frequent))
                // The weights of neighbours without motion: above and left 2 each, above left 1. Neighbours outside the
                // frame do not count.
                let weight = (row > 0 ? 2 : 0) &+ (column > 0 ? 2 : 0) &+ (row > 0 && column > 0 ? 1 : 0)
                encoder.write(false, probability: zeroMotion[weight])
            }
        }
    }

    /// The first column of `vp8_mode_contexts`, RFC 6386 section 16.3.
    private static let zeroMotion: [UInt8] = [7, 14, 135, 60, 159, 234]

    /// Whether a motion vector's probability is updated, RFC 6386 section 17.2.
    private static let motionUpdates: [UInt8] = [
        237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254,
        231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254,
    ]

    /// Whether a coefficient's probability is updated, RFC 6386 section 13.4: 4 block types of 8 bands of 3 contexts,
    /// 11 each. Values missing at the end of a row are 255.
    private static let coefficientUpdates: [[UInt8]] = [
        [], [], [],
        [176, 246], [223, 241, 252], [249, 253, 253],
        [255, 244, 252], [234, 254, 254], [253],
        [255, 246, 254], [239, 253, 254], [254, 255, 254],
        [255, 248, 254], [251, 255, 254], [],
        [255, 253, 254], [251, 254, 254], [254, 255, 254],
        [255, 254, 253, 255, 254], [250, 255, 254, 255, 254], [254],
        [], [], [],
        [217], [225, 252, 241, 253, 255, 255, 254], [234, 250, 241, 250, 253, 255, 253, 254],
        [255, 254], [223, 254, 254], [238, 253, 254, 254],
        [255, 248, 254], [249, 254], [],
        [255, 253], [247, 254], [],
        [255, 253, 254], [252], [],
        [255, 254, 254], [253], [],
        [255, 254, 253], [250], [254],
        [], [], [],
        [186, 251, 250], [234, 251, 244, 254], [251, 251, 243, 253, 254, 255, 254],
        [255, 253, 254], [236, 253, 254], [251, 253, 253, 254, 254],
        [255, 254, 254], [254, 254, 254], [],
        [255, 254], [254, 254], [254],
        [], [254], [],
        [], [], [],
        [], [], [],
        [], [], [],
        [248], [250, 254, 252, 254], [248, 254, 249, 253],
        [255, 253, 253], [246, 253, 253], [252, 254, 251, 254, 254],
        [255, 254, 252], [248, 254, 253], [253, 255, 254, 254],
        [255, 251, 254], [245, 251, 254], [253, 253, 254],
        [255, 251, 253], [252, 253, 254], [255, 254],
        [255, 252], [249, 255, 254], [255, 255, 254],
        [255, 255, 253], [250], [],
        [], [254], [],
    ]
}
