/// The boolean entropy encoder of VP8 (RFC 6386 section 7.3).
struct VP8BoolEncoder {
    private(set) var bytes: [UInt8] = []
    private var range: UInt32 = 255
    /// The lower end of the interval, and above bit 24 what is not written yet.
    private var bottom: UInt32 = 0
    /// Shifts until the next byte is complete.
    private var shifts = 24

    /// - Parameter probability: of `false`, in 1/256; not 0.
    mutating func write(_ bit: Bool, probability: UInt8) {
        let split = 1 &+ ((range &- 1) &* UInt32(probability)) >> 8
        if bit {
            bottom &+= split
            range &-= split
        } else {
            range = split
        }
        while range < 128 {
            range <<= 1
            if bottom & 0x8000_0000 != 0 { carry() }
            bottom <<= 1
            shifts &-= 1
            if shifts == 0 {
                bytes.append(UInt8(truncatingIfNeeded: bottom >> 24))
                bottom &= 0xFF_FFFF
                shifts = 8
            }
        }
    }

    /// Writes an unsigned number (`L(n)`, section 8), the most significant bit first.
    mutating func write(_ value: Int, bits: Int) {
        for bit in (0..<bits).reversed() { write(value >> bit & 1 != 0, probability: 128) }
    }

    /// Writes what is left of the interval. Nothing can be written after that.
    mutating func finish() { write(0, bits: 32) }

    private mutating func carry() {
        var index = bytes.count - 1
        while index >= 0, bytes[index] == 255 {
            bytes[index] = 0
            index -= 1
        }
        if index >= 0 { bytes[index] += 1 }
    }
}
