/// The pixels of a 4 x 4 block, row by row.
typealias VP8Block = SIMD16<UInt8>

extension VP8Block {
    init(_ pixels: UnsafePointer<UInt8>, _ stride: Int) {
        func row(_ index: Int) -> UInt32 {
            UnsafeRawPointer(pixels + index &* stride).loadUnaligned(as: UInt32.self)
        }
        self.init(rows: row(0), row(1), row(2), row(3))
    }

    init(rows a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32) {
        self = unsafeBitCast(SIMD4<UInt32>(a, b, c, d), to: VP8Block.self)
    }

    func store(_ pixels: UnsafeMutablePointer<UInt8>, _ stride: Int) {
        let rows = unsafeBitCast(self, to: SIMD4<UInt32>.self)
        for index in 0..<4 {
            UnsafeMutableRawPointer(pixels + index &* stride).storeBytes(of: rows[index], as: UInt32.self)
        }
    }

    /// The sum of the absolute differences.
    func difference(_ other: VP8Block) -> Int {
        let difference = pointwiseMax(self, other) &- pointwiseMin(self, other)
        return Int(SIMD16<UInt16>(truncatingIfNeeded: difference).wrappedSum())
    }

    func residuals(_ prediction: VP8Block) -> VP8Rows {
        let difference =
            SIMD16<Int32>(truncatingIfNeeded: self) &- SIMD16<Int32>(truncatingIfNeeded: prediction)
        return VP8Rows(
            a: difference.lowHalf.lowHalf, b: difference.lowHalf.highHalf, c: difference.highHalf.lowHalf,
            d: difference.highHalf.highHalf)
    }

    func adding(_ residuals: VP8Rows) -> VP8Block {
        let low = SIMD8<Int32>(lowHalf: residuals.a, highHalf: residuals.b)
        let high = SIMD8<Int32>(lowHalf: residuals.c, highHalf: residuals.d)
        let sum =
            SIMD16<Int32>(truncatingIfNeeded: self) &+ SIMD16<Int32>(lowHalf: low, highHalf: high)
        return VP8Block(
            truncatingIfNeeded: sum.clamped(lowerBound: .zero, upperBound: SIMD16<Int32>(repeating: 255)))
    }
}

/// What the modes of a 4 x 4 block predict from the pixels around it (RFC 6386 section 12.3).
struct VP8SubblockPrediction {
    private let above: UInt32
    /// From the lowest up, as bytes.
    private let left: UInt32
    private let corner: UInt8
    /// Of the pixels around: the left ones from the lowest up, the corner, eight above. Each byte is the average of the
    /// pixel and its two neighbours, or of it and the next one.
    private let threes: UInt128
    private let twos: UInt128

    /// - Parameter block: there are pixels above it, up to four further on the right, and on the left.
    init(_ block: UnsafePointer<UInt8>, _ stride: Int) {
        let above = UnsafeRawPointer(block - stride).loadUnaligned(as: UInt64.self)
        corner = block[-stride &- 1]
        left =
            UInt32(block[3 &* stride &- 1]) | UInt32(block[2 &* stride &- 1]) << 8
            | UInt32(block[stride &- 1]) << 16 | UInt32(block[-1]) << 24
        self.above = UInt32(truncatingIfNeeded: above)
        let last = UInt128(above >> 56) << 104
        let around = UInt128(left) | UInt128(corner) << 32 | UInt128(above) << 40 | last
        func pixels(_ bytes: UInt128) -> SIMD16<UInt16> {
            SIMD16<UInt16>(truncatingIfNeeded: unsafeBitCast(bytes, to: VP8Block.self))
        }
        let here = pixels(around)
        let before = pixels(around << 8 | UInt128(left & 255))
        let next = pixels(around >> 8)
        let three = (before &+ here &+ here &+ next &+ 2) &>> 2
        let two = (here &+ next &+ 1) &>> 1
        threes = unsafeBitCast(VP8Block(truncatingIfNeeded: three), to: UInt128.self)
        twos = unsafeBitCast(VP8Block(truncatingIfNeeded: two), to: UInt128.self)
    }

    func callAsFunction(_ mode: VP8SubblockMode) -> VP8Block {
        switch mode {
        case .mean: VP8Block(repeating: mean)
        case .trueMotion: trueMotion
        case .vertical: VP8Block(rows: three(5), three(5), three(5), three(5))
        case .horizontal:
            VP8Block(rows: repeated(three(3)), repeated(three(2)), repeated(three(1)), repeated(three(0)))
        case .downLeft: VP8Block(rows: three(6), three(7), three(8), three(9))
        case .downRight: VP8Block(rows: three(4), three(3), three(2), three(1))
        case .verticalRight:
            VP8Block(
                rows: two(4), three(4), three(3) & 255 | two(4) << 8, three(2) & 255 | three(4) << 8)
        case .verticalLeft:
            VP8Block(
                rows: two(5), three(6), two(6) & 0xFF_FFFF | three(10) << 24, three(7) & 0xFF_FFFF | three(11) << 24)
        case .horizontalDown:
            descending(UInt128(Self.interleaved(two(0), three(1))) | UInt128(three(5) & 0xFFFF) << 64, 6, -2)
        case .horizontalUp:
            descending(
                UInt128(Self.interleaved(two(0).byteSwapped >> 8, three(0).byteSwapped >> 8))
                    | UInt128(repeated(left)) << 48, 0, 2)
        }
    }

    private func three(_ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: threes >> UInt128(8 &* index)) }
    private func two(_ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: twos >> UInt128(8 &* index)) }
    /// The lowest byte.
    private func repeated(_ bytes: UInt32) -> UInt32 { (bytes & 255) &* 0x0101_0101 }

    /// Rows that begin at a byte, each of them some bytes further.
    private func descending(_ bytes: UInt128, _ first: Int, _ step: Int) -> VP8Block {
        func row(_ index: Int) -> UInt32 {
            UInt32(truncatingIfNeeded: bytes >> UInt128(8 &* (first &+ index &* step)))
        }
        return VP8Block(rows: row(0), row(1), row(2), row(3))
    }

    /// A byte of one and of the other in turns.
    private static func interleaved(_ even: UInt32, _ odd: UInt32) -> UInt64 {
        func spread(_ bytes: UInt32) -> UInt64 {
            let pairs = (UInt64(bytes) | UInt64(bytes) << 16) & 0x0000_FFFF_0000_FFFF
            return (pairs | pairs << 8) & 0x00FF_00FF_00FF_00FF
        }
        return spread(even) | spread(odd) << 8
    }

    private var mean: UInt8 {
        let pixels = unsafeBitCast(UInt64(above) | UInt64(left) << 32, to: SIMD8<UInt8>.self)
        return UInt8(truncatingIfNeeded: (SIMD8<UInt16>(truncatingIfNeeded: pixels).wrappedSum() &+ 4) >> 3)
    }

    private var trueMotion: VP8Block {
        let rows = VP8Block(
            rows: repeated(left >> 24), repeated(left >> 16), repeated(left >> 8), repeated(left))
        let columns = VP8Block(rows: above, above, above, above)
        return VP8Block.trueMotion(rows, columns, corner)
    }
}

extension SIMD16<UInt8> {
    /// TM_PRED (section 12.2): the pixels on the left, and those above.
    static func trueMotion(_ left: Self, _ above: Self, _ corner: UInt8) -> Self {
        let sum =
            SIMD16<Int16>(truncatingIfNeeded: left) &+ SIMD16<Int16>(truncatingIfNeeded: above)
            &- SIMD16<Int16>(repeating: Int16(corner))
        return Self(truncatingIfNeeded: sum.clamped(lowerBound: .zero, upperBound: SIMD16<Int16>(repeating: 255)))
    }
}
