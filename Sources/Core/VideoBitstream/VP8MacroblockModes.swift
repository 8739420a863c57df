import MediaCore

/// How the pixels of a macroblock are predicted: from the last frame, or, in the other cases, from the pixels around it
/// (RFC 6386 section 8).
enum VP8PredictionMode: UInt8 {
    case inter, mean, vertical, horizontal, trueMotion
    /// Each block of 4 x 4 pixels has a mode of its own, and there is no secondary transform.
    case subblocks

    var isIntra: Bool { self != .inter }
}

/// The modes of 4 x 4 blocks (section 12.3): B_DC_PRED, B_TM_PRED, B_VE_PRED and so on.
enum VP8SubblockMode: UInt8, CaseIterable {
    case mean, trueMotion, vertical, horizontal, downLeft, downRight, verticalRight, verticalLeft, horizontalDown
    case horizontalUp
}

/// How the macroblocks of an inter frame are coded (sections 16 and 17). All inter ones are predicted from the last
/// frame by one vector.
struct VP8MacroblockModes {
    let columns: Int
    let rows: Int
    /// By macroblock, row by row. Those of intra ones do not count.
    var vectors: [VP8MotionVector]
    private(set) var predictions: [VP8PredictionMode]
    private var chroma: [VP8PredictionMode]
    private var hasCoefficients: [Bool]
    /// Of the macroblocks that are predicted so, one behind another.
    private var subblocks: [InlineArray<16, VP8SubblockMode>] = []

    private enum VectorMode: UInt8 { case zero, nearest, near, new }
    private var vectorModes: [VectorMode]
    /// The probabilities of the four decisions about a vector's mode.
    private var contexts: [SIMD4<UInt8>]
    /// What is added to the best neighbour's vector.
    private var differences: [VP8MotionVector]

    /// All macroblocks are as they were in the last frame.
    init(_ size: PixelSize) {
        columns = (size.width + 15) / 16
        rows = (size.height + 15) / 16
        let count = columns * rows
        vectors = [VP8MotionVector](repeating: .zero, count: count)
        predictions = [VP8PredictionMode](repeating: .inter, count: count)
        chroma = predictions
        hasCoefficients = [Bool](repeating: false, count: count)
        vectorModes = [VectorMode](repeating: .zero, count: count)
        contexts = [SIMD4<UInt8>](repeating: .zero, count: count)
        differences = vectors
    }

    /// - Parameter vectors: nil: nothing moves.
    mutating func begin(_ vectors: [VP8MotionVector]?) {
        for index in predictions.indices { predictions[index] = .inter }
        for index in hasCoefficients.indices { hasCoefficients[index] = false }
        for index in self.vectors.indices { self.vectors[index] = .zero }
        if let vectors { for index in vectors.indices { self.vectors[index] = vectors[index] } }
        subblocks.removeAll(keepingCapacity: true)
    }

    /// Called in the order of macroblocks.
    mutating func set(_ index: Int, _ coded: UnsafePointer<VP8CodedMacroblock>) {
        predictions[index] = coded.pointee.luma
        chroma[index] = coded.pointee.chroma
        hasCoefficients[index] = coded.pointee.hasCoefficients
        if coded.pointee.luma == .subblocks { subblocks.append(coded.pointee.subblocks) }
    }

    // MARK: Vectors

    /// In pixels; vectors are coded in 10 bits of quarter pixels.
    static let longest = 255

    /// Chooses how vectors are coded. Sets each to zero that cannot be coded where it stands: a component may differ
    /// from that of the best neighbour by 255 pixels at most. The vectors of macroblocks before it decide what that is.
    /// - Returns: how many were set to zero.
    mutating func chooseVectorModes() -> Int {
        var count = 0
        let (columns, rows) = (columns, rows)
        vectors.withUnsafeMutableBufferPointer { vectors in
            predictions.withUnsafeBufferPointer { predictions in
                for row in 0..<rows {
                    for column in 0..<columns {
                        let index = row &* columns &+ column
                        vectorModes[index] = .zero
                        guard !predictions[index].isIntra else { continue }
                        let neighbours = VP8VectorNeighbours(
                            UnsafeBufferPointer(vectors), predictions, columns: columns, rows: rows, row: row,
                            column: column)
                        contexts[index] = neighbours.contexts
                        guard vectors[index] != .zero else { continue }
                        let chosen = Self.mode(vectors[index], neighbours)
                        if let chosen {
                            (vectorModes[index], differences[index]) = chosen
                        } else {
                            vectors[index] = .zero
                            count += 1
                        }
                    }
                }
            }
        }
        return count
    }

    /// - Returns: nil if a vector other than zero cannot be coded.
    private static func mode(
        _ vector: VP8MotionVector, _ neighbours: VP8VectorNeighbours
    ) -> (VectorMode, VP8MotionVector)? {
        if vector == neighbours.nearest { return (.nearest, .zero) }
        if vector == neighbours.near { return (.near, .zero) }
        let x = Int(vector.x) - Int(neighbours.best.x)
        let y = Int(vector.y) - Int(neighbours.best.y)
        guard abs(x) <= longest, abs(y) <= longest else { return nil }
        return (.new, VP8MotionVector(x: x, y: y))
    }

    // MARK: Bits

    /// Writes what follows the probabilities of coefficients: other probabilities, and the modes (section 19.3).
    func write(_ encoder: inout VP8BoolEncoder, _ entropy: VP8EntropyState) {
        // Macroblocks may be skipped.
        encoder.write(literal: 1, bits: 1)
        let skip = probability { !hasCoefficients[$0] }
        let intra = probability { !predictions[$0].isIntra }
        encoder.write(literal: UInt32(skip), bits: 8)
        encoder.write(literal: UInt32(intra), bits: 8)
        // That one is predicted from the last frame, and not from golden.
        encoder.write(literal: 255, bits: 8)
        encoder.write(literal: 128, bits: 8)
        let luma = writeModes(&encoder, entropy.lumaModes, of: predictions, Self.forEachLumaBit)
        let chroma = writeModes(&encoder, entropy.chromaModes, of: self.chroma, Self.forEachChromaBit)
        let vectors = writeVectors(&encoder, entropy.vectors)
        var subblock = 0
        for index in predictions.indices {
            encoder.write(!hasCoefficients[index], probability: skip)
            let prediction = predictions[index]
            encoder.write(!prediction.isIntra, probability: intra)
            guard prediction.isIntra else {
                encoder.write(false, probability: 255)
                writeVector(&encoder, index, vectors)
                continue
            }
            Self.forEachLumaBit(prediction) { encoder.write($1, probability: luma[$0]) }
            if prediction == .subblocks {
                for block in 0..<16 {
                    Self.forEachSubblockBit(subblocks[subblock][block]) {
                        encoder.write($1, probability: VP8Probabilities.subblockModes[$0])
                    }
                }
                subblock += 1
            }
            Self.forEachChromaBit(self.chroma[index]) { encoder.write($1, probability: chroma[$0]) }
        }
    }

    /// Of `false` in 256ths, for a flag that is set where `isSet` says so.
    private func probability(_ isSet: (Int) -> Bool) -> UInt8 {
        var counts = VP8BitCounts()
        for index in predictions.indices { counts.note(isSet(index)) }
        return counts.probability
    }

    /// Tells the probabilities of intra modes, if that pays.
    private func writeModes(
        _ encoder: inout VP8BoolEncoder, _ known: [UInt8], of modes: [VP8PredictionMode],
        _ forEachBit: (VP8PredictionMode, (Int, Bool) -> Void) -> Void
    ) -> [UInt8] {
        var counts = [VP8BitCounts](repeating: VP8BitCounts(), count: known.count)
        for index in predictions.indices where predictions[index].isIntra {
            forEachBit(modes[index]) { counts[$0].note($1) }
        }
        let best = counts.map(\.probability)
        func cost(_ probabilities: [UInt8]) -> Int {
            zip(counts, probabilities).reduce(0) {
                $0 + VP8BitCost.of(zeros: $1.0.zeros, ones: $1.0.ones, $1.1)
            }
        }
        let isTold = cost(best) + known.count * 8 * 256 < cost(known)
        encoder.write(literal: isTold ? 1 : 0, bits: 1)
        if isTold { for probability in best { encoder.write(literal: UInt32(probability), bits: 8) } }
        return isTold ? best : known
    }

    /// Tells the probabilities of vectors that pay (section 17.2).
    private func writeVectors(_ encoder: inout VP8BoolEncoder, _ known: [UInt8]) -> [UInt8] {
        var counts = [VP8BitCounts](repeating: VP8BitCounts(), count: known.count)
        for index in vectorModes.indices where vectorModes[index] == .new {
            forEachVectorBit(index) { counts[$0].note($1) }
        }
        return known.indices.map { index in
            let update = VP8Probabilities.vectorUpdate(index)
            let half = counts[index].probability / 2
            let told = half == 0 ? 1 : half * 2
            let pays = counts[index].paysToTell(told, insteadOf: known[index], bits: 7, update: update)
            encoder.write(pays, probability: update)
            if pays { encoder.write(literal: UInt32(half), bits: 7) }
            return pays ? told : known[index]
        }
    }

    private func writeVector(_ encoder: inout VP8BoolEncoder, _ index: Int, _ probabilities: [UInt8]) {
        let (mode, context) = (vectorModes[index], contexts[index])
        encoder.write(mode != .zero, probability: context[0])
        guard mode != .zero else { return }
        encoder.write(mode != .nearest, probability: context[1])
        guard mode != .nearest else { return }
        encoder.write(mode != .near, probability: context[2])
        guard mode != .near else { return }
        // Not split.
        encoder.write(false, probability: context[3])
        forEachVectorBit(index) { encoder.write($1, probability: probabilities[$0]) }
    }

    /// Calls `body` with the index of each bit's probability and the bit.
    private func forEachVectorBit(_ index: Int, _ body: (Int, Bool) -> Void) {
        VP8VectorComponent.forEachBit(Int(differences[index].y) * 4, body)
        VP8VectorComponent.forEachBit(Int(differences[index].x) * 4) { body(19 + $0, $1) }
    }

    /// Section 8.1, ymode_tree.
    private static func forEachLumaBit(_ mode: VP8PredictionMode, _ body: (Int, Bool) -> Void) {
        body(0, mode != .mean)
        guard mode != .mean else { return }
        let isLater = mode == .trueMotion || mode == .subblocks
        body(1, isLater)
        body(isLater ? 3 : 2, mode == .horizontal || mode == .subblocks)
    }

    /// Section 8.1, uv_mode_tree.
    private static func forEachChromaBit(_ mode: VP8PredictionMode, _ body: (Int, Bool) -> Void) {
        body(0, mode != .mean)
        guard mode != .mean else { return }
        body(1, mode != .vertical)
        guard mode != .vertical else { return }
        body(2, mode != .horizontal)
    }

    /// Section 8.1, bmode_tree.
    static func forEachSubblockBit(_ mode: VP8SubblockMode, _ body: (Int, Bool) -> Void) {
        for (index, first) in [VP8SubblockMode.mean, .trueMotion, .vertical].enumerated() {
            body(index, mode != first)
            if mode == first { return }
        }
        switch mode {
        case .horizontal, .downRight, .verticalRight:
            body(3, false)
            body(4, mode != .horizontal)
            if mode != .horizontal { body(5, mode == .verticalRight) }
        default:
            body(3, true)
            body(6, mode != .downLeft)
            guard mode != .downLeft else { return }
            body(7, mode != .verticalLeft)
            if mode != .verticalLeft { body(8, mode == .horizontalUp) }
        }
    }
}
