/// Four rows of a 4 x 4 block: residuals, or coefficients.
struct VP8Rows: Equatable {
    typealias Row = SIMD4<Int32>

    var a = Row.zero
    var b = Row.zero
    var c = Row.zero
    var d = Row.zero

    @inline(__always)
    var transposed: VP8Rows {
        VP8Rows(
            a: Row(a[0], b[0], c[0], d[0]), b: Row(a[1], b[1], c[1], d[1]), c: Row(a[2], b[2], c[2], d[2]),
            d: Row(a[3], b[3], c[3], d[3]))
    }

    @inline(__always)
    func map(_ body: (Row) -> Row) -> VP8Rows { VP8Rows(a: body(a), b: body(b), c: body(c), d: body(d)) }
    @inline(__always)
    func zip(_ other: VP8Rows, _ body: (Row, Row) -> Row) -> VP8Rows {
        VP8Rows(a: body(a, other.a), b: body(b, other.b), c: body(c, other.c), d: body(d, other.d))
    }

    subscript(row: Int, column: Int) -> Int32 {
        get { (row < 2 ? row == 0 ? a : b : row == 2 ? c : d)[column] }
        set {
            switch row {
            case 0: a[column] = newValue
            case 1: b[column] = newValue
            case 2: c[column] = newValue
            default: d[column] = newValue
            }
        }
    }

    @inline(__always)
    var isZero: Bool { a | b | c | d == .zero }
}

/// The transforms of VP8. The inverse ones are exact (RFC 6386 section 14); the others are as precise as need be.
extension VP8Rows {
    /// The coefficients of a block of residuals.
    var cosineTransform: VP8Rows {
        let vertical = cosinePass(scale: 8, shift: 12).transposed
        return vertical.cosinePass(scale: 1, shift: 16).transposed
    }

    @inline(__always)
    private func cosinePass(scale: Int32, shift: Int32) -> VP8Rows {
        let (outer, inner) = (self.a &+ self.d, self.b &+ self.c)
        let (innerDifference, outerDifference) = ((self.b &- self.c) &* scale, (self.a &- self.d) &* scale)
        // The even rows have no factor, so that they are shifted by what the odd ones are beyond 12 bits.
        let evenShift = shift &- 12
        let evenHalf: Int32 = evenShift > 0 ? 1 << (evenShift &- 1) : 0
        let half: Int32 = 1 << (shift &- 1)
        return VP8Rows(
            a: ((outer &+ inner) &* scale &+ evenHalf) &>> Row(repeating: evenShift),
            b: (innerDifference &* 2_217 &+ outerDifference &* 5_352 &+ half) &>> Row(repeating: shift),
            c: ((outer &- inner) &* scale &+ evenHalf) &>> Row(repeating: evenShift),
            d: (outerDifference &* 2_217 &- innerDifference &* 5_352 &+ half) &>> Row(repeating: shift))
    }

    /// The residuals of a block of coefficients (section 14.3).
    var inverseCosineTransform: VP8Rows {
        let vertical = inverseCosinePass.transposed
        return vertical.inverseCosinePass.map { ($0 &+ 4) &>> Row(repeating: 3) }.transposed
    }

    @inline(__always)
    private var inverseCosinePass: VP8Rows {
        let (even, odd) = (a &+ c, a &- c)
        let inner = Self.timesSine(b) &- Self.timesCosine(d)
        let outer = Self.timesCosine(b) &+ Self.timesSine(d)
        return VP8Rows(a: even &+ outer, b: odd &+ inner, c: odd &- inner, d: even &- outer)
    }

    /// By the square root of 2 and the sine of pi/8.
    @inline(__always)
    private static func timesSine(_ row: Row) -> Row { (row &* 35_468) &>> Row(repeating: 16) }
    @inline(__always)
    private static func timesCosine(_ row: Row) -> Row { row &+ (row &* 20_091) &>> Row(repeating: 16) }

    /// The coefficients of the blocks' first coefficients.
    var walshTransform: VP8Rows {
        // Half of the sum, rounded away from zero as well as towards it.
        walshPass.transposed.walshPass.map { ($0 &+ 1) &>> Row(repeating: 1) }.transposed
    }

    /// The blocks' first coefficients (section 14.3).
    var inverseWalshTransform: VP8Rows {
        walshPass.transposed.walshPass.map { ($0 &+ 3) &>> Row(repeating: 3) }.transposed
    }

    @inline(__always)
    private var walshPass: VP8Rows {
        let (outer, inner) = (a &+ d, b &+ c)
        let (outerDifference, innerDifference) = (a &- d, b &- c)
        return VP8Rows(
            a: outer &+ inner, b: outerDifference &+ innerDifference, c: outer &- inner,
            d: outerDifference &- innerDifference)
    }
}

/// The steps of one kind of block, and what turns a division by them into a product.
struct VP8Quantizer {
    private let steps: VP8Rows
    private let factors: VP8Rows
    /// Smaller levels are rounded to zero more often than not: they cost more than they show.
    private let rounding: VP8Rows

    /// Of all coefficients but the first.
    var step: Int { Int(steps.a[1]) }

    init(first: Int, others: Int) {
        let row = VP8Rows.Row(repeating: Int32(others))
        steps = VP8Rows(a: row, b: row, c: row, d: row).with(first: Int32(first))
        factors = steps.map { VP8Rows.Row(repeating: 65_536) / $0 &+ 1 }
        rounding = steps.map { ($0 &* 3) &>> VP8Rows.Row(repeating: 3) }
    }

    func levels(_ coefficients: VP8Rows) -> VP8Rows {
        func level(_ row: VP8Rows.Row, _ rounding: VP8Rows.Row, _ factor: VP8Rows.Row) -> VP8Rows.Row {
            let sign = row &>> VP8Rows.Row(repeating: 31)
            let size = (row ^ sign) &- sign
            let level = ((size &+ rounding) &* factor) &>> VP8Rows.Row(repeating: 16)
            return (level ^ sign) &- sign
        }
        return VP8Rows(
            a: level(coefficients.a, rounding.a, factors.a), b: level(coefficients.b, rounding.b, factors.b),
            c: level(coefficients.c, rounding.c, factors.c), d: level(coefficients.d, rounding.d, factors.d))
    }

    @inline(__always)
    func coefficients(_ levels: VP8Rows) -> VP8Rows { levels.zip(steps) { $0 &* $1 } }

    /// Of a macroblock with a quantizer index, 0...127 (RFC 6386 sections 9.6 and 14.1).
    struct Set {
        /// Luma without the first coefficients, these, and chroma.
        let luma: VP8Quantizer
        let secondary: VP8Quantizer
        let chroma: VP8Quantizer
        /// Of a squared difference of coefficients, which are twice as large as residuals, in 2^-16 bit.
        let weightOfError: Int

        init(index: Int) {
            let (first, others) = (VP8QuantizerTables.first[index], VP8QuantizerTables.others[index])
            luma = VP8Quantizer(first: first, others: others)
            secondary = VP8Quantizer(first: first * 2, others: max(others * 155 / 100, 8))
            chroma = VP8Quantizer(first: min(first, 132), others: others)
            weightOfError = 584_704 / (others * others)
        }
    }
}

extension VP8Rows {
    @inline(__always)
    func with(first: Int32) -> VP8Rows {
        var copy = self
        copy.a[0] = first
        return copy
    }
}

/// RFC 6386 section 14.1, dc_qlookup and ac_qlookup.
enum VP8QuantizerTables {
    static let first: [Int] = [
        4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 17, 18, 19, 20, 20, 21, 21, 22, 22, 23, 23, 24,
        25, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 46, 47,
        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73,
        74, 75, 76, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 91, 93, 95, 96, 98, 100, 101, 102,
        104, 106, 108, 110, 112, 114, 116, 118, 122, 124, 126, 128, 130, 132, 134, 136, 138, 140, 143, 145, 148,
        151, 154, 157,
    ]
    static let others: [Int] = [
        4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
        31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56,
        57, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78, 80, 82, 84, 86, 88, 90, 92, 94, 96, 98, 100, 102, 104,
        106, 108, 110, 112, 114, 116, 119, 122, 125, 128, 131, 134, 137, 140, 143, 146, 149, 152, 155, 158, 161,
        164, 167, 170, 173, 177, 181, 185, 189, 193, 197, 201, 205, 209, 213, 217, 221, 225, 229, 234, 239, 245,
        249, 254, 259, 264, 269, 274, 279, 284,
    ]
}
