import MediaCore

/// A macroblock as it is coded.
struct VP8CodedMacroblock {
    var luma = VP8PredictionMode.inter
    var chroma = VP8PredictionMode.mean
    var subblocks = InlineArray<16, VP8SubblockMode>(repeating: .mean)
    /// 16 blocks of luma, 8 of chroma, and the secondary one.
    var levels = InlineArray<25, VP8Rows>(repeating: VP8Rows())
    /// About what it takes, in 1/16 bit.
    var cost = 0

    fileprivate(set) var hasCoefficients = false

    fileprivate mutating func noteCoefficients() {
        hasCoefficients = luma != .subblocks && !levels[24].isZero
        for index in 0..<24 where !levels[index].isZero {
            hasCoefficients = true
            return
        }
    }

    static func append(_ coded: UnsafePointer<VP8CodedMacroblock>, to tokens: inout VP8Tokens, column: Int) {
        let isWhole = coded.pointee.luma == .subblocks
        guard coded.pointee.hasCoefficients else { return tokens.skip(column: column, hasSecondary: !isWhole) }
        if !isWhole { tokens.append(secondary: coded.pointee.levels[24], column: column) }
        for index in 0..<16 {
            tokens.append(luma: coded.pointee.levels[index], index: index, column: column, isWhole: isWhole)
        }
        for index in 0..<8 {
            tokens.append(chroma: coded.pointee.levels[16 &+ index], index: index, column: column)
        }
    }
}

/// Codes macroblocks of an inter frame: chooses for each what it is predicted from, by the bits that its coefficients
/// take.
struct VP8MacroblockCoder {
    let quantizers: VP8Quantizer.Set
    /// What a difference of one pixel costs, about, in 1/16 bit.
    let costOfDifference: Int
    let scratch: Scratch
    /// What was tried: the prediction from the last frame, from the pixels around the macroblock, and around subblocks.
    private let inter: UnsafeMutablePointer<VP8CodedMacroblock>
    let whole: UnsafeMutablePointer<VP8CodedMacroblock>
    let split: UnsafeMutablePointer<VP8CodedMacroblock>

    /// Predictions: luma in lines of 16 pixels, chroma in lines of 8; and luma that is made of subblocks, with its
    /// edges.
    struct Scratch {
        static let count = 256 + 64 + 64 + 32 * 18 + 384
        static let stride = 32
        let y: UnsafeMutablePointer<UInt8>
        var u: UnsafeMutablePointer<UInt8> { y + 256 }
        var v: UnsafeMutablePointer<UInt8> { y + 320 }
        var split: UnsafeMutablePointer<UInt8> { y + (384 + Self.stride + 8) }
        /// The source of a macroblock that extends beyond the canvas, with its last pixels repeated.
        var padded: UnsafeMutablePointer<UInt8> { y + (Self.count - 384) }
    }

    /// - Parameters:
    ///   - scratch: `Scratch.count` bytes.
    ///   - coded: three macroblocks.
    init(
        _ quantizers: VP8Quantizer.Set, scratch: UnsafeMutablePointer<UInt8>,
        _ coded: UnsafeMutableBufferPointer<VP8CodedMacroblock>
    ) {
        coded.initialize(repeating: VP8CodedMacroblock())
        let first = coded.baseAddress.unsafelyUnwrapped
        (inter, whole, split) = (first, first + 1, first + 2)
        self.quantizers = quantizers
        costOfDifference = max(32 / quantizers.luma.step, 1)
        self.scratch = Scratch(y: scratch)
    }

    /// What less than this takes, in 1/16 bit, is not tried otherwise.
    private static let cheap = 16 * 24

    /// The target becomes what decoders show.
    /// - Returns: the macroblock, valid until the next call.
    func code(_ place: VP8MacroblockPlace) -> UnsafePointer<VP8CodedMacroblock> {
        inter.pointee.cost = 16 &+ codeLuma(place, place.y.target, place.y.stride, inter)
        inter.pointee.cost &+= codeChroma(place, place.u.target, place.v.target, place.u.stride, inter)
        guard inter.pointee.cost > Self.cheap else { return finish(place, inter) }
        predictWhole(place)
        predictChroma(place)
        let chroma = codeChroma(place, scratch.u, scratch.v, 8, whole) &+ 32
        whole.pointee.cost = chroma &+ 48 &+ codeLuma(place, scratch.y, 16, whole)
        let limit = min(inter.pointee.cost, whole.pointee.cost)
        split.pointee.cost = chroma &+ 32
        if codeSubblocks(place, limit: limit) {
            split.pointee.luma = .subblocks
            split.pointee.chroma = whole.pointee.chroma
            for index in 16..<24 { split.pointee.levels[index] = whole.pointee.levels[index] }
            showChromaPrediction(place)
            place.y.show(scratch.split, stride: Scratch.stride, side: 16)
            return finish(place, split)
        }
        guard whole.pointee.cost < inter.pointee.cost else { return finish(place, inter) }
        showChromaPrediction(place)
        place.y.show(scratch.y, stride: 16, side: 16)
        return finish(place, whole)
    }

    /// Adds what is coded to the prediction.
    private func finish(
        _ place: VP8MacroblockPlace, _ coded: UnsafeMutablePointer<VP8CodedMacroblock>
    ) -> UnsafePointer<VP8CodedMacroblock> {
        if coded.pointee.luma != .subblocks {
            let first = quantizers.secondary.coefficients(coded.pointee.levels[24]).inverseWalshTransform
            for index in 0..<16 {
                let coefficients = quantizers.luma.coefficients(coded.pointee.levels[index])
                Self.show(
                    coefficients.with(first: first[index >> 2, index & 3]), place.y.target(index & 3, index >> 2),
                    place.y.stride)
            }
        }
        for index in 0..<8 {
            let plane = index < 4 ? place.u : place.v
            Self.show(
                quantizers.chroma.coefficients(coded.pointee.levels[16 &+ index]),
                plane.target(index & 1, index >> 1 & 1), plane.stride)
        }
        coded.pointee.noteCoefficients()
        return UnsafePointer(coded)
    }

    private static func show(_ coefficients: VP8Rows, _ target: UnsafeMutablePointer<UInt8>, _ stride: Int) {
        guard !coefficients.isZero else { return }
        VP8Block(target, stride).adding(coefficients.inverseCosineTransform).store(target, stride)
    }

    // MARK: Levels

    /// With the secondary transform.
    /// - Returns: the cost.
    private func codeLuma(
        _ place: VP8MacroblockPlace, _ prediction: UnsafePointer<UInt8>, _ stride: Int,
        _ coded: UnsafeMutablePointer<VP8CodedMacroblock>
    ) -> Int {
        var first = VP8Rows()
        var cost = 0
        for index in 0..<16 {
            let (x, y) = (index & 3, index >> 2)
            guard place.isVisible(x, y) else {
                coded.pointee.levels[index] = VP8Rows()
                // Whatever needs the fewest coefficients: the rows or columns that can be seen, mirrored.
                first[y, x] =
                    y < place.visible.rows
                    ? first[y, min(3 &- x, place.visible.columns &- 1)]
                    : first[min(3 &- y, place.visible.rows &- 1), x]
                continue
            }
            let block = place.y.source(x, y)
            let coefficients = block.residuals(VP8Block(prediction + (y &* 4 &* stride &+ x &* 4), stride))
                .cosineTransform
            first[y, x] = coefficients.a[0]
            coded.pointee.levels[index] = quantizers.luma.levels(coefficients.with(first: 0))
            cost &+= quantizers.cost(coded.pointee.levels[index], of: coefficients.with(first: 0), quantizers.luma)
        }
        let secondary = first.walshTransform
        coded.pointee.levels[24] = quantizers.secondary.levels(secondary)
        return cost &+ quantizers.cost(coded.pointee.levels[24], of: secondary, quantizers.secondary, gain: 2)
    }

    private func codeChroma(
        _ place: VP8MacroblockPlace, _ u: UnsafePointer<UInt8>, _ v: UnsafePointer<UInt8>, _ stride: Int,
        _ coded: UnsafeMutablePointer<VP8CodedMacroblock>
    ) -> Int {
        var cost = 0
        for index in 0..<8 {
            let (x, y) = (index & 1, index >> 1 & 1)
            coded.pointee.levels[16 &+ index] = VP8Rows()
            guard place.isVisible(2 &* x, 2 &* y) else { continue }
            let (plane, prediction) = index < 4 ? (place.u, u) : (place.v, v)
            let block = VP8Block(prediction + (y &* 4 &* stride &+ x &* 4), stride)
            let coefficients = plane.source(x, y).residuals(block).cosineTransform
            coded.pointee.levels[16 &+ index] = quantizers.chroma.levels(coefficients)
            cost &+= quantizers.cost(coded.pointee.levels[16 &+ index], of: coefficients, quantizers.chroma)
        }
        return cost
    }
}

extension VP8Quantizer.Set {
    /// What a block takes, and what it is then unlike the source, in 1/16 bit: a squared difference of 0.028 squares of
    /// a quantizer's step is worth a bit.
    /// - Parameter gain: the binary logarithm of how much larger than those of residuals the coefficients are.
    func cost(
        _ levels: VP8Rows, of coefficients: VP8Rows, _ quantizer: VP8Quantizer, gain: Int = 0
    ) -> Int {
        let error = coefficients.zip(quantizer.coefficients(levels)) { $0 &- $1 }
        let squares = error.a &* error.a &+ error.b &* error.b &+ error.c &* error.c &+ error.d &* error.d
        return levels.cost &+ (Int(squares.wrappedSum()) &* weightOfError) >> (12 &+ gain)
    }
}

extension VP8Rows {
    /// About what the levels of a block take, in 1/16 bit.
    fileprivate var cost: Int {
        guard !isZero else { return 4 }
        var sum: Int32 = 8
        for row in [a, b, c, d] {
            let sizes = pointwiseMin(pointwiseMax(row, 0 &- row), Row(repeating: 31))
            for index in 0..<4 { sum &+= Self.levelCosts[Int(sizes[index])] }
        }
        return Int(sum)
    }

    private static let levelCosts: [Int32] = (0...31).map { size in
        switch size {
        case 0: 5
        case 1: 40
        case 2: 72
        case 3: 88
        case 4: 96
        case 5...6: 109
        case 7...10: 128
        case 11...18: 149
        case 19...30: 168
        default: 200
        }
    }
}
