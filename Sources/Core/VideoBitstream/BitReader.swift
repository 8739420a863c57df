/// Reads bits, the most significant first. Past the end it reads zeros, and notes that.
struct BitReader {
    private let bytes: [UInt8]
    private var position = 0
    private(set) var hasOverrun = false

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    mutating func bit() -> Bool {
        guard position < bytes.count * 8 else {
            hasOverrun = true
            return false
        }
        defer { position += 1 }
        return bytes[position / 8] << UInt8(position % 8) & 0x80 != 0
    }

    /// - Parameter count: 0...32.
    mutating func bits(_ count: Int) -> Int {
        var value = 0
        for _ in 0..<count { value = value << 1 | (bit() ? 1 : 0) }
        return value
    }

    mutating func skip(_ count: Int) {
        position += count
        hasOverrun = hasOverrun || position > bytes.count * 8
    }

    /// An unsigned Exp-Golomb code, `ue(v)`: ITU-T H.264 section 9.1. AV1's `uvlc()` is the same.
    mutating func exponentialGolomb() -> Int {
        var zeros = 0
        while !bit() {
            zeros += 1
            guard zeros <= 31, !hasOverrun else {
                hasOverrun = true
                return 0
            }
        }
        return (1 << zeros) - 1 + bits(zeros)
    }

    /// A signed Exp-Golomb code, `se(v)`: ITU-T H.264 section 9.1.1.
    mutating func signedExponentialGolomb() -> Int {
        let code = exponentialGolomb()
        return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
    }
}
