/// SplitMix64: the same numbers for the same seed, everywhere.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    package mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }

    /// 0 and up.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True in so many of a hundred cases.
    package mutating func chance(_ percent: Double) -> Bool {
        percent > 0 && Double.random(in: 0..<100, using: &self) < percent
    }
}
