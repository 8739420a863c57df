import RTPWire

/// Lets sequence numbers through that go on from the last ones. A number far away is held to be an error, unless the next one follows it:
/// then the sender has started anew (RFC 3550 appendix A.1).
struct SequenceValidator {
    private static let farthest = 3_000

    enum Verdict: Equatable { case next(Int64), restarted(Int64), jump }

    private var unwrapper = SequenceUnwrapper()
    private var suspect: SequenceNumber?

    var highest: Int64? { unwrapper.highest }

    mutating func take(_ number: SequenceNumber) -> Verdict {
        guard let highest = unwrapper.highest else { return .next(unwrapper.unwrap(number)) }
        let step = SequenceNumber(truncating: highest).distance(to: number)
        if abs(step) <= Self.farthest {
            suspect = nil
            return .next(unwrapper.unwrap(number))
        }
        guard let expected = suspect, expected == number else {
            suspect = number.next
            return .jump
        }
        suspect = nil
        unwrapper = SequenceUnwrapper()
        return .restarted(unwrapper.unwrap(number))
    }

    /// Of a repetition: must be near what was seen, and moves nothing but the highest number.
    mutating func takeRepeat(_ number: SequenceNumber) -> Int64? {
        guard let highest = unwrapper.highest else { return unwrapper.unwrap(number) }
        guard abs(SequenceNumber(truncating: highest).distance(to: number)) <= Self.farthest else { return nil }
        return unwrapper.unwrap(number)
    }
}
