/// A 16-bit number that wraps: RTP sequence numbers (RFC 3550 section 5.1) and transport-wide ones.
///
/// Not `Comparable`: an order that wraps is not transitive. Ask for the distance.
public struct SequenceNumber: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public init(_ rawValue: UInt16) { self.rawValue = rawValue }
    /// The low 16 bits of a number that was unwrapped.
    public init(truncating extended: Int64) { rawValue = UInt16(truncatingIfNeeded: extended) }

    public var next: SequenceNumber { SequenceNumber(rawValue &+ 1) }
    public var previous: SequenceNumber { SequenceNumber(rawValue &- 1) }

    /// Steps from here to `other` by the shorter way, -32768...32767; half way round counts as backwards.
    public func distance(to other: SequenceNumber) -> Int {
        Int(Int16(bitPattern: other.rawValue &- rawValue))
    }

    public func isNewer(than other: SequenceNumber) -> Bool { other.distance(to: self) > 0 }

    public func advanced(by steps: Int) -> SequenceNumber {
        SequenceNumber(rawValue &+ UInt16(truncatingIfNeeded: steps))
    }
}

/// Turns sequence numbers into numbers that do not wrap (RFC 3550 appendix A.1's "extended" ones).
///
/// The first number keeps its value; one that comes late, from before the first, may be negative.
public struct SequenceUnwrapper: Hashable, Sendable {
    /// The highest number so far; nil before the first.
    public private(set) var highest: Int64?

    public init() {}

    /// The number nearest to the highest so far, which it may raise.
    public mutating func unwrap(_ number: SequenceNumber) -> Int64 {
        let extended = peek(number)
        if extended > highest ?? .min { highest = extended }
        return extended
    }

    /// As `unwrap`, but remembers nothing.
    public func peek(_ number: SequenceNumber) -> Int64 {
        guard let highest else { return Int64(number.rawValue) }
        return highest &+ Int64(SequenceNumber(truncating: highest).distance(to: number))
    }
}
