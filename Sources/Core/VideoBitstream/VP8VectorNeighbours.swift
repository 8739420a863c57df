/// The vectors that a macroblock's own is coded from (RFC 6386 section 16.3, vp8_find_near_mvs), where all inter
/// macroblocks are predicted from the last frame and none is split.
struct VP8VectorNeighbours {
    private(set) var nearest = VP8MotionVector.zero
    private(set) var near = VP8MotionVector.zero
    private(set) var best = VP8MotionVector.zero
    private(set) var contexts = SIMD4<UInt8>.zero

    init(
        _ vectors: UnsafeBufferPointer<VP8MotionVector>, _ predictions: UnsafeBufferPointer<VP8PredictionMode>,
        columns: Int, rows: Int, row: Int, column: Int
    ) {
        // The different vectors of the neighbours, the zero vector first, and their weights.
        var found = InlineArray<4, VP8MotionVector>(repeating: .zero)
        var weights = InlineArray<4, Int>(repeating: 0)
        var last = 0
        let index = row &* columns &+ column
        func note(_ index: Int, _ weight: Int) {
            guard !predictions[index].isIntra else { return }
            let vector = vectors[index]
            guard vector != .zero else {
                weights[0] &+= weight
                return
            }
            if last == 0 || vector != found[last] {
                last &+= 1
                found[last] = vector
            }
            weights[last] &+= weight
        }
        if row > 0 { note(index &- columns, 2) }
        if column > 0 { note(index &- 1, 2) }
        if row > 0, column > 0 { note(index &- columns &- 1, 1) }
        if last > 0 {
            if weights[3] > 0, found[last] == found[1] { weights[1] &+= 1 }
            if weights[2] > weights[1] {
                (weights[1], weights[2]) = (weights[2], weights[1])
                (found[1], found[2]) = (found[2], found[1])
            }
            if weights[1] >= weights[0] { found[0] = found[1] }
            func clamped(_ vector: VP8MotionVector) -> VP8MotionVector {
                // A block may lie one macroblock beyond the edge.
                VP8MotionVector(
                    x: min(max(Int(vector.x), -16 * column - 16), (columns - column) * 16),
                    y: min(max(Int(vector.y), -16 * row - 16), (rows - row) * 16))
            }
            nearest = clamped(found[1])
            near = clamped(found[2])
            best = clamped(found[0])
        }
        contexts = VP8Probabilities.modeContexts(weights[0], weights[1], weights[2])
    }
}

/// One component of a vector, in quarter pixels (RFC 6386 section 17.2).
enum VP8VectorComponent {
    /// Calls `body` with the index of each bit's probability and the bit.
    static func forEachBit(_ value: Int, _ body: (Int, Bool) -> Void) {
        let size = abs(value)
        if size < 8 {
            body(0, false)
            let bits = (size >> 2 & 1, size >> 1 & 1, size & 1)
            body(2, bits.0 != 0)
            body(2 + (bits.0 != 0 ? 4 : 1), bits.1 != 0)
            body(2 + (bits.0 != 0 ? (bits.1 != 0 ? 6 : 5) : (bits.1 != 0 ? 3 : 2)), bits.2 != 0)
            if size == 0 { return }
        } else {
            body(0, true)
            for bit in 0..<3 { body(9 + bit, size >> bit & 1 != 0) }
            for bit in (4..<10).reversed() { body(9 + bit, size >> bit & 1 != 0) }
            // A number below 16 has bit 3, or it would be short.
            if size > 15 { body(9 + 3, size >> 3 & 1 != 0) }
        }
        body(1, value < 0)
    }
}
