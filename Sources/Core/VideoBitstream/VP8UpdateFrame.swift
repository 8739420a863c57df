public import MediaCore

/// A VP8 inter frame that codes some macroblocks and skips all others. Each of them is predicted from what it was in the last
/// frame, or from the mean of the pixels around it (DC_PRED), whichever is closer.
///
/// The time that it takes depends on what is coded. It has no loop filter, changes no probability of later frames, and
/// needs to know none of earlier ones (RFC 6386 section 9).
public struct VP8UpdateFrame {
    private let size: PixelSize
    private let columns: Int
    private let rows: Int
    private var kinds: [VP8MacroblockKind]
    private var tokens: VP8Tokens
    /// A macroblock that extends beyond the canvas, with its last pixels repeated.
    private var padded = [UInt8](repeating: 0, count: 384)

    public init(_ size: PixelSize) {
        self.size = size
        columns = (size.width + 15) / 16
        rows = (size.height + 15) / 16
        kinds = [VP8MacroblockKind](repeating: .skipped, count: columns * rows)
        tokens = VP8Tokens(columns: columns)
    }

    /// Makes the frame.
    /// - Parameters:
    ///   - blocks: the macroblocks to code, other than 0, row by row.
    ///   - picture: what decoders show before the frame. It becomes what they show after it, bit for bit.
    ///   - quantizer: the index, 0...127 (section 9.6).
    ///   - version: of the stream, 1...3 (section 9.1).
    public mutating func encode(
        _ canvas: I420Frame, _ blocks: [UInt8], onto picture: VP8Picture, quantizer: Int, version: UInt8
    ) -> [UInt8] {
        precondition(canvas.size == size && blocks.count == columns * rows, "a canvas of another size")
        let quantizers = VP8Quantizer.Set(index: quantizer)
        tokens.beginFrame()
        for row in 0..<rows {
            tokens.beginRow()
            for column in 0..<columns {
                let index = row &* columns &+ column
                kinds[index] = .skipped
                if blocks[index] != 0 {
                    kinds[index] = code(canvas, picture, row: row, column: column, quantizers)
                }
                if kinds[index].isSkipped { tokens.skip(column: column) }
            }
        }
        return bytes(quantizer: quantizer, version: version)
    }

    // MARK: Bits

    private func bytes(quantizer: Int, version: UInt8) -> [UInt8] {
        var encoder = VP8BoolEncoder(capacity: 2_048)
        encoder.writeHeader(quantizer: quantizer, refreshesLast: true)
        let probabilities = writeProbabilities(&encoder)
        let total = kinds.count
        let skip = Self.probability(of: kinds.count { !$0.isSkipped }, in: total)
        let intra = Self.probability(of: kinds.count { $0.isIntra }, in: total)
        encoder.writeModeProbabilities(skip: skip, intra: intra, hasOnlyMean: true)
        encoder.writeNoVectors()
        for row in 0..<rows {
            for column in 0..<columns {
                let kind = kinds[row &* columns &+ column]
                encoder.write(kind.isSkipped, probability: skip)
                encoder.write(!kind.isIntra, probability: intra)
                if kind.isIntra {
                    // Both luma and chroma are predicted from the mean.
                    encoder.write(false, probability: 255)
                    encoder.write(false, probability: 255)
                } else {
                    encoder.write(false, probability: 255)
                    encoder.write(false, probability: noMotion(row, column))
                }
            }
        }
        return encoder.frame(version: version, coefficients: tokens.bytes(probabilities))
    }

    private func noMotion(_ row: Int, _ column: Int) -> UInt8 {
        let index = row &* columns &+ column
        return VP8Probabilities.noMotion(
            above: row > 0 && !kinds[index &- columns].isIntra, left: column > 0 && !kinds[index &- 1].isIntra,
            aboveLeft: row > 0 && column > 0 && !kinds[index &- columns &- 1].isIntra)
    }

    /// Tells each probability that is used, as those of earlier frames are not known.
    private func writeProbabilities(_ encoder: inout VP8BoolEncoder) -> [UInt8] {
        var probabilities = [UInt8](repeating: 128, count: VP8Tokens.probabilityCount)
        for index in probabilities.indices {
            let update = VP8Probabilities.coefficientUpdate(index)
            guard let probability = tokens.probability(index) else {
                encoder.write(false, probability: update)
                continue
            }
            encoder.write(true, probability: update)
            encoder.write(literal: UInt32(probability), bits: 8)
            probabilities[index] = probability
        }
        return probabilities
    }

    private static func probability(of count: Int, in total: Int) -> UInt8 {
        UInt8(min(max(count * 256 / total, 1), 255))
    }

    // MARK: Pixels

    private mutating func code(
        _ canvas: I420Frame, _ picture: VP8Picture, row: Int, column: Int, _ quantizers: VP8Quantizer.Set
    ) -> VP8MacroblockKind {
        let (x, y) = (column &* 16, row &* 16)
        let target = VP8Picture(
            y: picture.y + (y &* picture.strideY &+ x), u: picture.u + (y / 2 &* picture.strideC &+ x / 2),
            v: picture.v + (y / 2 &* picture.strideC &+ x / 2), strideY: picture.strideY, strideC: picture.strideC)
        guard x + 16 > size.width || y + 16 > size.height else {
            let source = I420Frame(
                size: size, y: canvas.y + (y &* canvas.strideY &+ x), u: canvas.u + (y / 2 &* canvas.strideC &+ x / 2),
                v: canvas.v + (y / 2 &* canvas.strideC &+ x / 2), strideY: canvas.strideY, strideC: canvas.strideC)
            return VP8Macroblock(source, target, row, column).code(quantizers, &tokens)
        }
        pad(canvas, x, y)
        return padded.withUnsafeBufferPointer { padded in
            let base = padded.baseAddress.unsafelyUnwrapped
            let source = I420Frame(size: size, y: base, u: base + 256, v: base + 320, strideY: 16, strideC: 8)
            return VP8Macroblock(source, target, row, column).code(quantizers, &tokens)
        }
    }

    private mutating func pad(_ canvas: I420Frame, _ x: Int, _ y: Int) {
        for (plane, stride, start, side) in [
            (canvas.y, canvas.strideY, 0, 16), (canvas.u, canvas.strideC, 256, 8), (canvas.v, canvas.strideC, 320, 8),
        ] {
            let scale = 16 / side
            let (right, bottom) = (size.width / scale - 1, size.height / scale - 1)
            for line in 0..<side {
                for column in 0..<side {
                    let place = min(y / scale + line, bottom) * stride + min(x / scale + column, right)
                    padded[start + line * side + column] = plane[place]
                }
            }
        }
    }
}
