import MediaCore

/// How a macroblock is coded.
enum VP8MacroblockKind: UInt8 {
    case skipped, inter, intra, emptyIntra

    var isIntra: Bool { self == .intra || self == .emptyIntra }
    /// It has no coefficients.
    var isSkipped: Bool { self == .skipped || self == .emptyIntra }
}

/// A macroblock of an inter frame that is predicted from the last frame, without motion, or from the mean of its neighbours.
struct VP8Macroblock {
    private let luma: Plane
    private let chroma: (Plane, Plane)
    private let column: Int

    /// - Parameters:
    ///   - source: the pixels to code begin at its planes.
    ///   - target: those of the last frame. They become what decoders show. What lies above and on the left is done.
    init(_ source: I420Frame, _ target: VP8Picture, _ row: Int, _ column: Int) {
        self.column = column
        let edges = (above: row > 0, left: column > 0)
        luma = Plane(source.y, source.strideY, target.y, target.strideY, side: 16, edges)
        chroma = (
            Plane(source.u, source.strideC, target.u, target.strideC, side: 8, edges),
            Plane(source.v, source.strideC, target.v, target.strideC, side: 8, edges)
        )
    }

    /// Its levels: 16 blocks of luma, 8 of chroma, and the secondary one.
    private typealias Levels = InlineArray<25, VP8Rows>

    /// Appends its tokens.
    func code(_ quantizers: VP8Quantizer.Set, _ tokens: inout VP8Tokens) -> VP8MacroblockKind {
        let isIntra = luma.isCloserToMean
        var levels = Levels(repeating: VP8Rows())
        var first = VP8Rows()
        var isEmpty = true
        for index in 0..<16 {
            let coefficients = luma.residuals(index & 3, index >> 2, isIntra).cosineTransform
            first[index >> 2, index & 3] = coefficients.a[0]
            levels[index] = quantizers.luma.levels(coefficients.with(first: 0))
            isEmpty = isEmpty && levels[index].isZero
        }
        levels[24] = quantizers.secondary.levels(first.walshTransform)
        isEmpty = isEmpty && levels[24].isZero
        for index in 0..<8 {
            let residuals = plane(index).residuals(index & 1, index >> 1 & 1, isIntra)
            levels[16 &+ index] = quantizers.chroma.levels(residuals.cosineTransform)
            isEmpty = isEmpty && levels[16 &+ index].isZero
        }
        if isEmpty, !isIntra { return .skipped }
        if !isEmpty { append(levels, to: &tokens) }
        show(levels, quantizers, isIntra)
        return isEmpty ? .emptyIntra : isIntra ? .intra : .inter
    }

    /// - Parameter index: 0...7, of a chroma block.
    private func plane(_ index: Int) -> Plane { index < 4 ? chroma.0 : chroma.1 }

    private func append(_ levels: borrowing Levels, to tokens: inout VP8Tokens) {
        tokens.append(secondary: levels[24], column: column)
        for index in 0..<16 { tokens.append(luma: levels[index], index: index, column: column) }
        for index in 0..<8 { tokens.append(chroma: levels[16 &+ index], index: index, column: column) }
    }

    private func show(_ levels: borrowing Levels, _ quantizers: VP8Quantizer.Set, _ isIntra: Bool) {
        let first = quantizers.secondary.coefficients(levels[24]).inverseWalshTransform
        for index in 0..<16 {
            let coefficients = quantizers.luma.coefficients(levels[index]).with(first: first[index >> 2, index & 3])
            luma.show(coefficients, index & 3, index >> 2, isIntra)
        }
        for index in 0..<8 {
            let coefficients = quantizers.chroma.coefficients(levels[16 &+ index])
            plane(index).show(coefficients, index & 1, index >> 1 & 1, isIntra)
        }
    }

    /// One plane of the macroblock.
    private struct Plane {
        private let source: UnsafePointer<UInt8>
        private let sourceStride: Int
        private let target: UnsafeMutablePointer<UInt8>
        private let targetStride: Int
        /// Of the pixels above and on the left.
        private let mean: UInt8

        init(
            _ source: UnsafePointer<UInt8>, _ sourceStride: Int, _ target: UnsafeMutablePointer<UInt8>,
            _ targetStride: Int, side: Int, _ edges: (above: Bool, left: Bool)
        ) {
            (self.source, self.sourceStride) = (source, sourceStride)
            (self.target, self.targetStride) = (target, targetStride)
            // RFC 6386 section 12.2.
            var sum = 0
            var count = 0
            if edges.above {
                for index in 0..<side { sum &+= Int(target[index &- targetStride]) }
                count &+= side
            }
            if edges.left {
                for index in 0..<side { sum &+= Int(target[index &* targetStride &- 1]) }
                count &+= side
            }
            mean = count == 0 ? 128 : UInt8(truncatingIfNeeded: (sum &+ count / 2) / count)
        }

        /// Whether 16 lines of 16 pixels differ less from the mean than from what was there.
        var isCloserToMean: Bool {
            var (intra, inter) = (0, 0)
            let mean = SIMD16<UInt8>(repeating: mean)
            for line in 0..<16 {
                let here = UnsafeRawPointer(source + line &* sourceStride).loadUnaligned(as: SIMD16<UInt8>.self)
                let last = UnsafeRawPointer(target + line &* targetStride).loadUnaligned(as: SIMD16<UInt8>.self)
                intra &+= Self.difference(here, mean)
                inter &+= Self.difference(here, last)
            }
            return intra < inter
        }

        /// The sum of the absolute differences.
        private static func difference(_ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>) -> Int {
            let difference = pointwiseMax(a, b) &- pointwiseMin(a, b)
            return Int(SIMD16<UInt16>(truncatingIfNeeded: difference).wrappedSum())
        }

        /// Of a block of 4 x 4 pixels, by its place in blocks.
        func residuals(_ x: Int, _ y: Int, _ isIntra: Bool) -> VP8Rows {
            Self.load(source + (y &* 4 &* sourceStride &+ x &* 4), sourceStride)
                .zip(prediction(x, y, isIntra)) { $0 &- $1 }
        }

        private func prediction(_ x: Int, _ y: Int, _ isIntra: Bool) -> VP8Rows {
            guard isIntra else { return Self.load(target + (y &* 4 &* targetStride &+ x &* 4), targetStride) }
            let row = VP8Rows.Row(repeating: Int32(mean))
            return VP8Rows(a: row, b: row, c: row, d: row)
        }

        private static func load(_ pixels: UnsafePointer<UInt8>, _ stride: Int) -> VP8Rows {
            func row(_ index: Int) -> VP8Rows.Row {
                let bytes = UnsafeRawPointer(pixels + index &* stride).loadUnaligned(as: SIMD4<UInt8>.self)
                return VP8Rows.Row(truncatingIfNeeded: bytes)
            }
            return VP8Rows(a: row(0), b: row(1), c: row(2), d: row(3))
        }

        func show(_ coefficients: VP8Rows, _ x: Int, _ y: Int, _ isIntra: Bool) {
            guard isIntra || !coefficients.isZero else { return }
            let shown = prediction(x, y, isIntra).zip(coefficients.inverseCosineTransform) { $0 &+ $1 }
            let start = target + (y &* 4 &* targetStride &+ x &* 4)
            func store(_ row: VP8Rows.Row, _ index: Int) {
                let clamped = row.clamped(lowerBound: .zero, upperBound: VP8Rows.Row(repeating: 255))
                UnsafeMutableRawPointer(start + index &* targetStride)
                    .storeBytes(of: SIMD4<UInt8>(truncatingIfNeeded: clamped), as: SIMD4<UInt8>.self)
            }
            store(shown.a, 0)
            store(shown.b, 1)
            store(shown.c, 2)
            store(shown.d, 3)
        }
    }
}
