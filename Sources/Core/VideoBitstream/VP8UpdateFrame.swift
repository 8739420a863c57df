public import MediaCore

/// A VP8 inter frame that codes some macroblocks, and skips all others or moves what is there. Those that are coded are
/// predicted from what is there then, or from the pixels around them, whichever takes fewer bits.
///
/// The time that it takes depends on what is coded. It has no loop filter, and changes no probability of later frames
/// (RFC 6386 section 9).
public struct VP8UpdateFrame {
    private let size: PixelSize
    private var modes: VP8MacroblockModes
    private var tokens: VP8Tokens

    public init(_ size: PixelSize) {
        self.size = size
        modes = VP8MacroblockModes(size)
        tokens = VP8Tokens(columns: modes.columns)
    }

    /// What decoders know before a frame, and what they are told.
    public struct Settings {
        /// The index, 0...127 (section 9.6).
        public var quantizer: Int
        /// Of the stream, 1...3 (section 9.1).
        public var version: UInt8
        /// What decoders have before the frame.
        public var entropy: VP8EntropyState

        public init(quantizer: Int, version: UInt8, entropy: VP8EntropyState) {
            self.quantizer = quantizer
            self.version = version
            self.entropy = entropy
        }
    }

    /// Makes the frame.
    /// - Parameters:
    ///   - blocks: the macroblocks to code, other than 0, row by row.
    ///   - moved: a copy frame that the frame begins with, and that was applied to `picture`; with `areVectorsNear`.
    ///   - picture: what decoders show before the frame. It becomes what they show after it, bit for bit.
    public mutating func encode(
        _ canvas: I420Frame, _ blocks: [UInt8], after moved: VP8CopyFrame? = nil, onto picture: VP8Picture,
        _ settings: Settings
    ) -> [UInt8] {
        precondition(canvas.size == size && blocks.count == modes.columns * modes.rows, "a canvas of another size")
        // Vectors are told from those of neighbours, which intra ones have not.
        precondition(moved?.areVectorsNear ?? true, "a vector may not be codable")
        modes.begin(moved?.vectors)
        tokens.beginFrame()
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: VP8MacroblockCoder.Scratch.count) { scratch in
            withUnsafeTemporaryAllocation(of: VP8CodedMacroblock.self, capacity: 3) { coded in
                let coder = VP8MacroblockCoder(
                    VP8Quantizer.Set(index: settings.quantizer),
                    scratch: scratch.baseAddress.unsafelyUnwrapped, coded)
                code(canvas, blocks, picture, coder)
            }
        }
        let uncodable = modes.chooseVectorModes()
        precondition(uncodable == 0, "a vector was not restricted")
        var encoder = VP8BoolEncoder(capacity: 2_048)
        encoder.writeHeader(quantizer: settings.quantizer, refreshesLast: true)
        let probabilities = tokens.writeProbabilities(&encoder, settings.entropy.coefficients)
        modes.write(&encoder, settings.entropy)
        return encoder.frame(version: settings.version, coefficients: tokens.bytes(probabilities))
    }

    // MARK: Pixels

    private mutating func code(
        _ canvas: I420Frame, _ blocks: [UInt8], _ picture: VP8Picture, _ coder: VP8MacroblockCoder
    ) {
        for row in 0..<modes.rows {
            tokens.beginRow()
            for column in 0..<modes.columns {
                let index = row &* modes.columns &+ column
                guard blocks[index] != 0 else {
                    tokens.skip(column: column)
                    continue
                }
                let source = source(canvas, column &* 16, row &* 16, coder.scratch.padded)
                let place = VP8MacroblockPlace(source, picture, row: row, column: column, columns: modes.columns)
                let coded = coder.code(place)
                modes.set(index, coded)
                VP8CodedMacroblock.append(coded, to: &tokens, column: column)
            }
        }
    }

    /// The canvas from a macroblock on.
    private func source(
        _ canvas: I420Frame, _ x: Int, _ y: Int, _ padded: UnsafeMutablePointer<UInt8>
    ) -> I420Frame {
        guard x + 16 > size.width || y + 16 > size.height else {
            return I420Frame(
                size: size, y: canvas.y + (y &* canvas.strideY &+ x), u: canvas.u + (y / 2 &* canvas.strideC &+ x / 2),
                v: canvas.v + (y / 2 &* canvas.strideC &+ x / 2), strideY: canvas.strideY, strideC: canvas.strideC)
        }
        pad(canvas, x, y, padded)
        return I420Frame(size: size, y: padded, u: padded + 256, v: padded + 320, strideY: 16, strideC: 8)
    }

    private func pad(_ canvas: I420Frame, _ x: Int, _ y: Int, _ padded: UnsafeMutablePointer<UInt8>) {
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
