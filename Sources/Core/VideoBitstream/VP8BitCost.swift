/// What decisions of the arithmetic coder cost, in 1/256 bit.
enum VP8BitCost {
    /// Of a decision with a probability of `index` / 256, 1...255.
    private static let table: [Int] = (0...256).map { $0 == 0 ? 0 : 8 * 256 - logarithm($0) }

    /// - Parameter probability: of `false`, 1...255.
    static func of(_ bit: Bool, _ probability: UInt8) -> Int {
        table[bit ? 256 &- Int(probability) : Int(probability)]
    }

    static func of(zeros: Int, ones: Int, _ probability: UInt8) -> Int {
        zeros &* of(false, probability) &+ ones &* of(true, probability)
    }

    /// The binary logarithm times 256, by repeated squaring.
    private static func logarithm(_ number: Int) -> Int {
        let exponent = Int.bitWidth - 1 - number.leadingZeroBitCount
        var mantissa = UInt64(number) << UInt64(31 - exponent)
        var result = exponent
        for _ in 0..<8 {
            mantissa = mantissa * mantissa >> 31
            let isOver = mantissa >> 32 != 0
            result = result << 1 | (isOver ? 1 : 0)
            if isOver { mantissa >>= 1 }
        }
        return result
    }
}

/// How often each of two outcomes of a decision occurs.
struct VP8BitCounts {
    var zeros = 0
    var ones = 0

    mutating func note(_ bit: Bool) { if bit { ones &+= 1 } else { zeros &+= 1 } }

    /// Of `false` in 256ths, 1...255: the best one.
    var probability: UInt8 {
        let total = zeros &+ ones
        return total == 0 ? 128 : UInt8(min(max((zeros &* 256 &+ total / 2) / total, 1), 255))
    }

    /// Whether it pays to tell a probability in `bits` bits instead of using the one that the decoder has.
    /// - Parameter update: that it is not told.
    func paysToTell(_ told: UInt8, insteadOf known: UInt8, bits: Int, update: UInt8) -> Bool {
        let price = bits &* 256 &+ VP8BitCost.of(true, update) &- VP8BitCost.of(false, update)
        return VP8BitCost.of(zeros: zeros, ones: ones, told) &+ price
            < VP8BitCost.of(zeros: zeros, ones: ones, known)
    }
}
