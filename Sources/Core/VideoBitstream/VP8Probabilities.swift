/// Probabilities of VP8 that the frames made here need.
enum VP8Probabilities {
    /// That a probability of vectors is left as it is: rows, then columns (RFC 6386 section 17.2,
    /// mv_entropy_update_probs).
    private static let vectorUpdates: [UInt8] = [
        237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254,
        231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254,
    ]

    /// - Parameter index: 0..<38.
    static func vectorUpdate(_ index: Int) -> UInt8 { vectorUpdates[index] }

    /// Of the modes of vectors, by the weights of the neighbours, 0...5, that have the same one (RFC 6386 section 16.3,
    /// vp8_mode_contexts). No neighbour is split.
    static func modeContexts(_ zero: Int, _ nearest: Int, _ near: Int) -> SIMD4<UInt8> {
        // The columns of the table, the first row in the lowest byte.
        func probability(_ column: UInt64, _ weight: Int) -> UInt8 {
            UInt8(truncatingIfNeeded: column >> UInt64(truncatingIfNeeded: 8 &* weight))
        }
        return SIMD4(
            probability(0xEA9F_3C87_0E07, zero), probability(0xBC86_3840_1201, nearest),
            probability(0x8080_8039_0E01, near), 143)
    }

    /// `coefficientUpdates`, from 0 to 1,055.
    static func coefficientUpdate(_ index: Int) -> UInt8 { allCoefficientUpdates[index] }

    private static let allCoefficientUpdates = coefficientUpdates.flatMap { row in
        row + [UInt8](repeating: 255, count: 11 - row.count)
    }

    /// That a probability of coefficients is left as it is (RFC 6386 section 13.4, coeff_update_probs): 4 block types
    /// of 8 bands of 3 contexts, 11 each. Values missing at the end of a row are 255.
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
