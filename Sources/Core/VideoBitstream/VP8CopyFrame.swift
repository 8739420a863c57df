public import MediaCore

/// A VP8 inter frame that only moves content: each macroblock has a vector of whole pixels into the last frame, and no
/// coefficients.
///
/// It has no loop filter, changes no probability of later frames, and needs to know none of earlier ones (RFC 6386
/// section 9).
public struct VP8CopyFrame {
    public let columns: Int
    public let rows: Int
    /// By macroblock, row by row.
    public var vectors: [VP8MotionVector]

    private enum Mode: UInt8 { case zero, nearest, near, new }
    private var modes: [Mode]
    /// The probabilities of the four decisions about a macroblock's mode.
    private var contexts: [SIMD4<UInt8>]
    /// What is added to the best neighbour's vector.
    private var differences: [VP8MotionVector]

    /// Creates a frame in which nothing moves.
    public init(_ size: PixelSize) {
        columns = (size.width + 15) / 16
        rows = (size.height + 15) / 16
        vectors = [VP8MotionVector](repeating: .zero, count: columns * rows)
        modes = [Mode](repeating: .zero, count: columns * rows)
        contexts = [SIMD4<UInt8>](repeating: .zero, count: columns * rows)
        differences = vectors
    }

    public mutating func clear() { for index in vectors.indices { vectors[index] = .zero } }

    /// Makes the blocks with a vector codable where it is longer than can be told at once: blocks above the first of
    /// them, which then have wrong content, get parts of it.
    /// - Returns: those blocks.
    public mutating func seed(_ vector: VP8MotionVector) -> [Int] {
        let longest = max(abs(Int(vector.x)), abs(Int(vector.y)))
        // Parts are rounded by less than 2 pixels.
        let steps = (longest + Self.longest - 2) / (Self.longest - 1)
        guard longest > Self.longest else { return [] }
        // The rows above the first possible one stay.
        for index in 0..<min(steps - 1, rows) * columns where vectors[index] == vector { vectors[index] = .zero }
        guard let first = vectors.firstIndex(of: vector) else { return [] }
        var seeds: [Int] = []
        let (row, column) = (first / columns, first % columns)
        for above in 1..<steps {
            let part = VP8MotionVector(
                x: Int(vector.x) * (steps - above) / steps / 2 * 2, y: Int(vector.y) * (steps - above) / steps / 2 * 2)
            for left in 0...min(above, column) {
                guard isInside(part, row: row - above, column: column - left) else { continue }
                let index = (row - above) * columns + column - left
                vectors[index] = part
                seeds.append(index)
            }
        }
        return seeds
    }

    private func isInside(_ vector: VP8MotionVector, row: Int, column: Int) -> Bool {
        let (x, y) = (column * 16 + Int(vector.x), row * 16 + Int(vector.y))
        return x >= 0 && y >= 0 && x + 16 <= columns * 16 && y + 16 <= rows * 16
    }

    /// Sets each vector to zero that cannot be coded where it stands: a component may differ from that of the best
    /// neighbour by 255 pixels at most. The vectors of blocks before it decide what that is.
    /// - Returns: how many were set to zero.
    public mutating func restrict() -> Int {
        var count = 0
        for row in 0..<rows {
            for column in 0..<columns {
                let index = row * columns + column
                let neighbours = VP8VectorNeighbours(vectors, columns: columns, rows: rows, row: row, column: column)
                contexts[index] = neighbours.contexts
                let vector = vectors[index]
                modes[index] = .zero
                guard vector != .zero else { continue }
                if vector == neighbours.nearest {
                    modes[index] = .nearest
                } else if vector == neighbours.near {
                    modes[index] = .near
                } else {
                    let x = Int(vector.x) - Int(neighbours.best.x)
                    let y = Int(vector.y) - Int(neighbours.best.y)
                    guard abs(x) <= Self.longest, abs(y) <= Self.longest else {
                        vectors[index] = .zero
                        count += 1
                        continue
                    }
                    modes[index] = .new
                    differences[index] = VP8MotionVector(x: x, y: y)
                }
            }
        }
        return count
    }

    /// In pixels; vectors are coded in 10 bits of quarter pixels.
    private static let longest = 255

    /// Writes the frame as it was after `restrict`.
    /// - Parameters:
    ///   - version: of the stream, 0...3 (RFC 6386 section 9.1).
    ///   - stored: golden and alternate buffers that get the frame besides the last frame's.
    public func encode(version: UInt8, stored: Set<ReferenceSlot> = []) -> [UInt8] {
        var encoder = VP8BoolEncoder()
        encoder.writeHeader(refreshesLast: true, stored: stored)
        encoder.writeNoCoefficients()
        let probabilities = writeVectorProbabilities(&encoder)
        for index in modes.indices { writeMacroblock(&encoder, index, probabilities) }
        return encoder.frame(version: version)
    }

    /// RFC 6386 section 17.2: each probability that is used is told, those of earlier frames need not be known.
    private func writeVectorProbabilities(_ encoder: inout VP8BoolEncoder) -> [[UInt8]] {
        var counts = [VP8VectorCounts(), VP8VectorCounts()]
        for index in modes.indices where modes[index] == .new {
            counts[0].note(Int(differences[index].y) * 4)
            counts[1].note(Int(differences[index].x) * 4)
        }
        return (0..<2).map { component in
            (0..<VP8VectorCounts.size).map { index in
                let update = VP8Probabilities.vectorUpdates[component][index]
                guard let half = counts[component].half(index) else {
                    encoder.write(false, probability: update)
                    return 0
                }
                encoder.write(true, probability: update)
                encoder.write(literal: UInt32(half), bits: 7)
                return half == 0 ? 1 : UInt8(half * 2)
            }
        }
    }

    /// RFC 6386 section 16 and 17.
    private func writeMacroblock(_ encoder: inout VP8BoolEncoder, _ index: Int, _ probabilities: [[UInt8]]) {
        encoder.writeSkippedMacroblock()
        let (mode, context) = (modes[index], contexts[index])
        encoder.write(mode != .zero, probability: context[0])
        guard mode != .zero else { return }
        encoder.write(mode != .nearest, probability: context[1])
        guard mode != .nearest else { return }
        encoder.write(mode != .near, probability: context[2])
        guard mode != .near else { return }
        // Not split.
        encoder.write(false, probability: context[3])
        VP8VectorComponent.forEachBit(Int(differences[index].y) * 4) {
            encoder.write($1, probability: probabilities[0][$0])
        }
        VP8VectorComponent.forEachBit(Int(differences[index].x) * 4) {
            encoder.write($1, probability: probabilities[1][$0])
        }
    }
}

/// The vectors that a macroblock's own is coded from (RFC 6386 section 16.3, vp8_find_near_mvs), where all macroblocks
/// are predicted from the last frame and none is split.
struct VP8VectorNeighbours {
    private(set) var nearest = VP8MotionVector.zero
    private(set) var near = VP8MotionVector.zero
    private(set) var best = VP8MotionVector.zero
    private(set) var contexts = SIMD4<UInt8>.zero

    init(_ vectors: [VP8MotionVector], columns: Int, rows: Int, row: Int, column: Int) {
        // The different vectors of the neighbours, the zero vector first, and their weights.
        var found = InlineArray<4, VP8MotionVector>(repeating: .zero)
        var weights = InlineArray<4, Int>(repeating: 0)
        var last = 0
        let index = row * columns + column
        func note(_ vector: VP8MotionVector, _ weight: Int) {
            guard vector != .zero else {
                weights[0] += weight
                return
            }
            if last == 0 || vector != found[last] {
                last += 1
                found[last] = vector
            }
            weights[last] += weight
        }
        if row > 0 { note(vectors[index - columns], 2) }
        if column > 0 { note(vectors[index - 1], 2) }
        if row > 0, column > 0 { note(vectors[index - columns - 1], 1) }
        if weights[3] > 0, found[last] == found[1] { weights[1] += 1 }
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
        // Weight 3 would be that of split neighbours.
        contexts = SIMD4(
            VP8Probabilities.modeContexts[weights[0]][0], VP8Probabilities.modeContexts[weights[1]][1],
            VP8Probabilities.modeContexts[weights[2]][2], VP8Probabilities.modeContexts[0][3])
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

/// How often each bit of a vector's component is 0 and 1.
struct VP8VectorCounts {
    static let size = 19
    private var zeros = [Int](repeating: 0, count: size)
    private var ones = [Int](repeating: 0, count: size)

    mutating func note(_ value: Int) {
        VP8VectorComponent.forEachBit(value) { index, bit in
            if bit { ones[index] += 1 } else { zeros[index] += 1 }
        }
    }

    /// Half of the best probability in 1/256, 0...127, where 0 stands for 1/256; nil if the bit does not occur.
    func half(_ index: Int) -> Int? {
        let total = zeros[index] + ones[index]
        guard total > 0 else { return nil }
        return min(Int(255 * Double(zeros[index]) / Double(total) + 0.5), 254) / 2
    }
}
