/// The arithmetic coder of VP8's partitions: RFC 6386 section 7.3.
struct VP8BoolEncoder {
    private(set) var bytes: [UInt8] = []
    private var range: UInt32 = 255
    private var bottom: UInt32 = 0
    private var bitsLeft = 24

    /// - Parameter capacity: the bytes that memory is reserved for.
    init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    /// - Parameter probability: the probability of `false` in 256ths, 1...255.
    mutating func write(_ value: Bool, probability: UInt8) {
        let split = 1 &+ ((range &- 1) &* UInt32(probability)) >> 8
        if value {
            bottom &+= split
            range &-= split
        } else {
            range = split
        }
        let count = range.leadingZeroBitCount &- 24
        guard count > 0 else { return }
        range <<= UInt32(truncatingIfNeeded: count)
        shift(by: count)
    }

    /// Writes the low `count` bits, the most significant first.
    mutating func write(literal: UInt32, bits count: Int) {
        for bit in stride(from: count &- 1, through: 0, by: -1) {
            write(literal >> UInt32(bit) & 1 != 0, probability: 128)
        }
    }

    /// Writes the remaining bits. Nothing may be written afterwards.
    mutating func finish() {
        for _ in 0..<32 { shift(by: 1) }
    }

    /// - Parameter count: 1...7.
    private mutating func shift(by count: Int) {
        guard count >= bitsLeft else {
            bottom <<= UInt32(truncatingIfNeeded: count)
            bitsLeft &-= count
            return
        }
        bottom <<= UInt32(truncatingIfNeeded: bitsLeft &- 1)
        if bottom & 1 << 31 != 0 { carry() }
        bottom <<= 1
        bytes.append(UInt8(truncatingIfNeeded: bottom >> 24))
        let rest = count &- bitsLeft
        bottom = (bottom & 0xFF_FFFF) << UInt32(truncatingIfNeeded: rest)
        bitsLeft = 8 &- rest
    }

    private mutating func carry() {
        var index = bytes.count &- 1
        while index >= 0, bytes[index] == 255 {
            bytes[index] = 0
            index &-= 1
        }
        if index >= 0 { bytes[index] &+= 1 }
    }
}
