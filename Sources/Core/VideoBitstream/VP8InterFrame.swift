internal import MediaCore

/// What the frames have in common that are made here: most macroblocks are skipped, and all inter ones are predicted
/// from the last frame (RFC 6386 sections 9 and 19).
extension VP8BoolEncoder {
    /// Writes the header up to the probabilities of coefficients (section 19.2).
    /// - Parameters:
    ///   - quantizer: the index, 0...127.
    ///   - refreshesLast: whether the frame becomes the last one.
    ///   - stored: golden and alternate buffers that get the frame, too.
    mutating func writeHeader(quantizer: Int = 0, refreshesLast: Bool, stored: Set<ReferenceSlot> = []) {
        // No segments; the loop filter's type, level 0, sharpness 0, no adjustments; one partition of coefficients.
        write(literal: 0, bits: 1 + 1 + 6 + 3 + 1 + 2)
        // No deltas.
        write(literal: UInt32(quantizer), bits: 7)
        write(literal: 0, bits: 5)
        write(literal: stored.contains(.golden) ? 1 : 0, bits: 1)
        write(literal: stored.contains(.alternate) ? 1 : 0, bits: 1)
        // No buffer is copied into one that is not refreshed.
        for slot in ReferenceSlot.allCases where !stored.contains(slot) { write(literal: 0, bits: 2) }
        // No sign bias. Probabilities are not kept.
        write(literal: 0, bits: 1 + 1 + 1)
        write(literal: refreshesLast ? 1 : 0, bits: 1)
    }

    /// Writes that no probability of coefficients changes.
    mutating func writeNoCoefficients() {
        for index in 0..<VP8Tokens.probabilityCount {
            write(false, probability: VP8Probabilities.coefficientUpdate(index))
        }
    }

    /// Ends the first partition.
    /// - Parameters:
    ///   - version: of the stream, 0...3 (section 9.1).
    ///   - coefficients: the second partition. Without any it is not read, but FFmpeg's decoder refuses a frame without
    ///     it.
    /// - Returns: the frame, which is shown.
    consuming func frame(version: UInt8, coefficients: [UInt8] = [0, 0, 0, 0]) -> [UInt8] {
        finish()
        precondition(bytes.count < 1 << 19, "a first partition of \(bytes.count) bytes")
        let tag = UInt32(truncatingIfNeeded: bytes.count) << 5 | 1 << 4 | UInt32(version & 3) << 1 | 1
        let start = [0, 8, 16].map { UInt8(truncatingIfNeeded: tag >> $0) }
        return start + bytes + coefficients
    }
}
