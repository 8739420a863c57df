/// A 16-bit number that wraps: RTP sequence numbers (RFC 3550 section 5.1) and transport-wide ones.
///
/// Not `Comparable`, as an order that wraps is not transitive; use `distance(to:)`.
public struct SequenceNumber: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public init(_ rawValue: UInt16) { self.rawValue = rawValue }
    /// Takes the low 16 bits of an unwrapped number.
    public init(truncating extended: Int64) { rawValue = UInt16(truncatingIfNeeded: extended) }

    public var next: SequenceNumber { SequenceNumber(rawValue &+ 1) }
    public var previous: SequenceNumber { SequenceNumber(rawValue &- 1) }

    /// Steps from this one to `other` by the shorter way, -32768...32767; half way round counts as backwards.
    public func distance(to other: SequenceNumber) -> Int {
        Int(Int16(bitPattern: other.rawValue &- rawValue))
    }

    public func isNewer(than other: SequenceNumber) -> Bool { other.distance(to: self) > 0 }

    public func advanced(by steps: Int) -> SequenceNumber {
        SequenceNumber(rawValue &+ UInt16(truncatingIfNeeded: steps))
    }
}

/// Converts sequence numbers to numbers that do not wrap (the "extended" ones of RFC 3550 appendix A.1).
///
/// The first number keeps its value; a late one from before the first may be negative.
public struct SequenceUnwrapper: Hashable, Sendable {
    /// The highest number so far; nil before the first.
    public private(set) var highest: Int64?

    public init() {}

    /// Returns the number nearest to the highest so far, which it may raise.
    public mutating func unwrap(_ number: SequenceNumber) -> Int64 {
        let extended = peek(number)
        if extended > highest ?? .min { highest = extended }
        return extended
    }

    /// Returns the same as `unwrap`, without a change of state.
    public func peek(_ number: SequenceNumber) -> Int64 {
        guard let highest else { return Int64(number.rawValue) }
        return highest &+ Int64(SequenceNumber(truncating: highest).distance(to: number))
    }
}
