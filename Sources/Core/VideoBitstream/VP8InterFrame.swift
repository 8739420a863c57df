internal import MediaCore

/// What frames without coefficients have in common: all macroblocks are skipped, and predicted from the last frame (RFC
/// 6386 sections 9 and 19).
extension VP8BoolEncoder {
    /// Writes all of the header but the probabilities of vectors (section 19.2).
    /// - Parameters:
    ///   - refreshesLast: whether the frame becomes the last one.
    ///   - stored: golden and alternate buffers that get the frame, too.
    mutating func writeHeader(refreshesLast: Bool, stored: Set<ReferenceSlot> = []) {
        // No segments; the loop filter's type, level 0, sharpness 0, no adjustments; one partition of coefficients.
        write(literal: 0, bits: 1 + 1 + 6 + 3 + 1 + 2)
        // The quantizer's index, which is not used, and no deltas.
        write(literal: 0, bits: 7 + 5)
        write(literal: stored.contains(.golden) ? 1 : 0, bits: 1)
        write(literal: stored.contains(.alternate) ? 1 : 0, bits: 1)
        // No buffer is copied into one that is not refreshed.
        for slot in ReferenceSlot.allCases where !stored.contains(slot) { write(literal: 0, bits: 2) }
        // No sign bias. Probabilities are not kept.
        write(literal: 0, bits: 1 + 1 + 1)
        write(literal: refreshesLast ? 1 : 0, bits: 1)
        for row in VP8Probabilities.coefficientUpdates {
            for index in 0..<11 { write(false, probability: index < row.count ? row[index] : 255) }
        }
        // Macroblocks may be skipped, and nearly all are; all are predicted from the last frame.
        write(literal: 1, bits: 1)
        write(literal: UInt32(Self.rare), bits: 8)
        write(literal: UInt32(Self.rare), bits: 8)
        write(literal: UInt32(Self.frequent), bits: 8)
        write(literal: 128, bits: 8)
        // The probabilities of intra modes are not updated.
        write(literal: 0, bits: 2)
    }

    private static let rare: UInt8 = 1
    private static let frequent: UInt8 = 255

    /// Writes what comes before a macroblock's mode: skipped, inter, the last frame (section 19.3).
    mutating func writeSkippedMacroblock() {
        write(true, probability: Self.rare)
        write(true, probability: Self.rare)
        write(false, probability: Self.frequent)
    }

    /// Ends the first partition.
    /// - Parameter version: of the stream, 0...3 (section 9.1).
    /// - Returns: the frame, which is shown.
    consuming func frame(version: UInt8) -> [UInt8] {
        finish()
        let tag = UInt32(truncatingIfNeeded: bytes.count) << 5 | 1 << 4 | UInt32(version & 3) << 1 | 1
        let start = [0, 8, 16].map { UInt8(truncatingIfNeeded: tag >> $0) }
        // The second partition is not read, but FFmpeg's decoder refuses a frame without it.
        return start + bytes + [0, 0, 0, 0]
    }
}
