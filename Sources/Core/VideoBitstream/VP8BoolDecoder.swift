/// The arithmetic decoder of VP8's partitions: RFC 6386 section 7.3. After the last byte it reads zeros.
struct VP8BoolDecoder {
    private let bytes: UnsafeRawBufferPointer
    private var position = 2
    private var value: UInt32
    private var range: UInt32 = 255
    /// How often `value` was shifted since it got a byte.
    private var shifts = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        value = bytes.count < 2 ? 0 : UInt32(bytes[0]) << 8 | UInt32(bytes[1])
    }

    /// Whether more was read than there is.
    var isExhausted: Bool { position > bytes.count + 2 }

    /// - Parameter probability: the probability of `false` in 256ths, 1...255.
    mutating func read(probability: UInt8) -> Bool {
        let split = 1 &+ ((range &- 1) &* UInt32(probability)) >> 8
        let bit = value >= split << 8
        if bit {
            range &-= split
            value &-= split << 8
        } else {
            range = split
        }
        while range < 128 {
            value <<= 1
            range <<= 1
            shifts &+= 1
            guard shifts == 8 else { continue }
            shifts = 0
            if position < bytes.count { value |= UInt32(bytes[position]) }
            position &+= 1
        }
        return bit
    }

    /// Reads an unsigned number of `count` bits.
    mutating func read(bits count: Int) -> Int {
        (0..<count).reduce(0) { number, _ in number << 1 | (read(probability: 128) ? 1 : 0) }
    }

    mutating func readFlag() -> Bool { read(probability: 128) }
}
