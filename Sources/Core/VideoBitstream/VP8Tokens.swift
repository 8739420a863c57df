/// The tokens of a frame's coefficients (RFC 6386 section 13): all decisions about them, so that the probabilities
/// which fit best can be told before they are written.
struct VP8Tokens {
    /// Of a block's coefficients (section 13.3): luma without the first ones, these, chroma, and luma with the first
    /// ones.
    enum Plane: Int { case luma, secondary, chroma, whole }

    /// 4 kinds of blocks, 8 bands, 3 contexts, 11 decisions.
    static let probabilityCount = 4 * 8 * 3 * 11

    /// `index << 1 | bit` with the index of a probability, or, from `fixed` on, the probability itself instead.
    private var decisions: [UInt16] = []
    private static let fixed: UInt16 = 1 << 15

    /// Whether the blocks at the lower edge of the macroblocks above, and at the right edge of the one on the left,
    /// have tokens: 4 of luma, 2 each of chroma, and the secondary one.
    private var above: [InlineArray<9, UInt8>]
    private var left = InlineArray<9, UInt8>(repeating: 0)

    init(columns: Int) { above = [InlineArray<9, UInt8>](repeating: InlineArray(repeating: 0), count: columns) }

    mutating func beginFrame() {
        decisions.removeAll(keepingCapacity: true)
        for column in above.indices { above[column] = InlineArray(repeating: 0) }
    }

    mutating func beginRow() { left = InlineArray(repeating: 0) }

    /// A macroblock without coefficients.
    /// - Parameter hasSecondary: it has the secondary transform.
    mutating func skip(column: Int, hasSecondary: Bool = true) {
        let last = (above: above[column][8], left: left[8])
        above[column] = InlineArray(repeating: 0)
        left = InlineArray(repeating: 0)
        if !hasSecondary { (above[column][8], left[8]) = last }
    }

    /// A block of the secondary transform, if there is one; then 16 of luma, and 8 of chroma, by their indices.
    mutating func append(secondary levels: VP8Rows, column: Int) {
        append(levels, .secondary, from: 0, column, above: 8, left: 8)
    }

    mutating func append(luma levels: VP8Rows, index: Int, column: Int, isWhole: Bool) {
        append(levels, isWhole ? .whole : .luma, from: isWhole ? 0 : 1, column, above: index & 3, left: index >> 2)
    }

    /// - Parameter index: 0...3 of U, 4...7 of V.
    mutating func append(chroma levels: VP8Rows, index: Int, column: Int) {
        let plane = 4 &+ (index >> 2) &* 2
        append(levels, .chroma, from: 0, column, above: plane &+ index & 1, left: plane &+ index >> 1 & 1)
    }

    private mutating func append(
        _ levels: VP8Rows, _ plane: Plane, from first: Int, _ column: Int, above aboveIndex: Int, left leftIndex: Int
    ) {
        let context = Int(above[column][aboveIndex] &+ left[leftIndex])
        let hasTokens: UInt8 = append(levels, plane, from: first, context: context) ? 1 : 0
        above[column][aboveIndex] = hasTokens
        left[leftIndex] = hasTokens
    }

    /// - Returns: whether there is a token other than the end.
    private mutating func append(_ levels: VP8Rows, _ plane: Plane, from first: Int, context: Int) -> Bool {
        let (a, b, c, d) = (levels.a, levels.b, levels.c, levels.d)
        // In the order of section 13: diagonally.
        let ordered: InlineArray<16, Int32> = [
            a[0], a[1], b[0], c[0], b[1], a[2], a[3], b[2], c[1], d[0], d[1], c[2], b[3], c[3], d[2], d[3],
        ]
        var end = levels.isZero ? 0 : 16
        while end > first, ordered[end &- 1] == 0 { end &-= 1 }
        var node = Self.node(plane, position: first, context)
        guard end > first else {
            decide(node, false)
            return false
        }
        decide(node, true)
        for position in first..<end {
            let next = append(ordered[position], node)
            guard position < 15 else { break }
            node = Self.node(plane, position: position &+ 1, next)
            // No block ends with a zero.
            if next > 0 { decide(node, position &+ 1 < end) }
        }
        return true
    }

    private static let bands: InlineArray<16, Int> = [0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7]

    /// The index of the first probability.
    private static func node(_ plane: Plane, position: Int, _ context: Int) -> Int {
        ((plane.rawValue &* 8 &+ bands[position]) &* 3 &+ context) &* 11
    }

    /// - Returns: the context of the next token.
    private mutating func append(_ level: Int32, _ node: Int) -> Int {
        guard level != 0 else {
            decide(node &+ 1, false)
            return 0
        }
        decide(node &+ 1, true)
        let size = Int(abs(level))
        decide(node &+ 2, size > 1)
        if size > 1 {
            decide(node &+ 3, size > 4)
            if size > 4 { appendLarge(size, node) } else { appendSmall(size, node) }
        }
        decide(fixed: 128, level < 0)
        return size > 1 ? 2 : 1
    }

    /// 2...4.
    private mutating func appendSmall(_ size: Int, _ node: Int) {
        decide(node &+ 4, size > 2)
        if size > 2 { decide(node &+ 5, size > 3) }
    }

    /// From 5 on: a category, and what exceeds its first value.
    private mutating func appendLarge(_ size: Int, _ node: Int) {
        decide(node &+ 6, size > 10)
        let category = size > 66 ? 5 : size > 34 ? 4 : size > 18 ? 3 : size > 10 ? 2 : size > 6 ? 1 : 0
        if category < 2 {
            decide(node &+ 7, category > 0)
        } else {
            decide(node &+ 8, category > 3)
            decide(category > 3 ? node &+ 10 : node &+ 9, category & 1 != 0)
        }
        let rest = size &- Self.categories[category].first
        let probabilities = Self.categories[category].probabilities
        for index in probabilities.indices {
            decide(fixed: probabilities[index], rest >> (probabilities.count &- 1 &- index) & 1 != 0)
        }
    }

    /// Section 13.2, Pcat1 to Pcat6.
    private static let categories: [(first: Int, probabilities: [UInt8])] = [
        (5, [159]), (7, [165, 145]), (11, [173, 148, 140]), (19, [176, 155, 140, 135]),
        (35, [180, 157, 141, 134, 130]), (67, [254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129]),
    ]

    private mutating func decide(_ index: Int, _ bit: Bool) {
        decisions.append(UInt16(truncatingIfNeeded: index << 1 | (bit ? 1 : 0)))
    }

    private mutating func decide(fixed probability: UInt8, _ bit: Bool) {
        decisions.append(Self.fixed | UInt16(probability) << 1 | (bit ? 1 : 0))
    }

    // MARK: Bytes

    /// Tells the probabilities that pay (section 13.4).
    /// - Parameter known: what decoders have.
    /// - Returns: those that the tokens are written with.
    func writeProbabilities(_ encoder: inout VP8BoolEncoder, _ known: [UInt8]) -> [UInt8] {
        var counts = [UInt32](repeating: 0, count: 2 * Self.probabilityCount)
        for decision in decisions where decision < Self.fixed { counts[Int(decision)] &+= 1 }
        var probabilities = known
        for index in known.indices {
            let update = VP8Probabilities.coefficientUpdate(index)
            let counts = VP8BitCounts(zeros: Int(counts[2 &* index]), ones: Int(counts[2 &* index &+ 1]))
            let best = counts.probability
            guard counts.paysToTell(best, insteadOf: known[index], bits: 8, update: update) else {
                encoder.write(false, probability: update)
                continue
            }
            encoder.write(true, probability: update)
            encoder.write(literal: UInt32(best), bits: 8)
            probabilities[index] = best
        }
        return probabilities
    }

    /// The partition of all tokens.
    func bytes(_ probabilities: [UInt8]) -> [UInt8] {
        var encoder = VP8BoolEncoder(capacity: decisions.count / 8)
        for decision in decisions {
            let bit = decision & 1 != 0
            if decision >= Self.fixed {
                encoder.write(bit, probability: UInt8(truncatingIfNeeded: decision >> 1))
            } else {
                encoder.write(bit, probability: probabilities[Int(decision >> 1)])
            }
        }
        encoder.finish()
        return encoder.bytes
    }
}
