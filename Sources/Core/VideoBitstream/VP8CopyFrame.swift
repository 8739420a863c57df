public import MediaCore

/// A VP8 inter frame that only moves content: each macroblock has a vector of whole pixels into the last frame, and no
/// coefficients.
///
/// It has no loop filter, and changes no probability of later frames (RFC 6386 section 9).
public struct VP8CopyFrame {
    public var columns: Int { modes.columns }
    public var rows: Int { modes.rows }
    /// By macroblock, row by row.
    public var vectors: [VP8MotionVector] {
        get { modes.vectors }
        _modify { yield &modes.vectors }
    }
    private var modes: VP8MacroblockModes

    /// Creates a frame in which nothing moves.
    public init(_ size: PixelSize) { modes = VP8MacroblockModes(size) }

    public mutating func clear() { for index in vectors.indices { vectors[index] = .zero } }

    /// Makes the blocks with a vector codable where it is longer than can be told at once: blocks above the first of
    /// them, which then have wrong content, get parts of it.
    /// - Returns: those blocks.
    public mutating func seed(_ vector: VP8MotionVector) -> [Int] {
        let longest = max(abs(Int(vector.x)), abs(Int(vector.y)))
        // Parts are rounded by less than 2 pixels.
        let steps = (longest + VP8MacroblockModes.longest - 2) / (VP8MacroblockModes.longest - 1)
        guard longest > VP8MacroblockModes.longest else { return [] }
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
    public mutating func restrict() -> Int { modes.chooseVectorModes() }

    /// Whether each vector can be told from any other, and from zero.
    public var areVectorsNear: Bool {
        var (low, high) = (SIMD2<Int16>.zero, SIMD2<Int16>.zero)
        for vector in vectors {
            low = pointwiseMin(low, SIMD2(vector.x, vector.y))
            high = pointwiseMax(high, SIMD2(vector.x, vector.y))
        }
        let span = SIMD2<Int>(truncatingIfNeeded: high) &- SIMD2<Int>(truncatingIfNeeded: low)
        return span.max() <= VP8MacroblockModes.longest
    }

    /// Writes the frame as it was after `restrict`.
    /// - Parameters:
    ///   - version: of the stream, 0...3 (RFC 6386 section 9.1).
    ///   - stored: golden and alternate buffers that get the frame besides the last frame's.
    ///   - entropy: what decoders have before it.
    public func encode(version: UInt8, stored: Set<ReferenceSlot> = [], entropy: VP8EntropyState) -> [UInt8] {
        var encoder = VP8BoolEncoder(capacity: 2_048)
        encoder.writeHeader(refreshesLast: true, stored: stored)
        encoder.writeNoCoefficients()
        modes.write(&encoder, entropy)
        return encoder.frame(version: version)
    }
}
