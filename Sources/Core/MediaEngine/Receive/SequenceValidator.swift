import RTPWire

/// Validates sequence numbers after RFC 3550 appendix A.1. A number more than 3,000 from the highest is dropped, unless
/// the next packet follows it: then the sender has restarted its sequence. Differs in that there is no probation: the
/// first packet is accepted.
struct SequenceValidator {
    private static let farthest = 3_000

    /// The extended sequence number of a valid packet, the first one of a restarted sequence, or a packet to be
    /// dropped.
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

    /// Takes in the original sequence number of an RTX packet, which must be near the highest one and cannot restart
    /// the sequence.
    mutating func takeRetransmitted(_ number: SequenceNumber) -> Int64? {
        guard let highest = unwrapper.highest else { return unwrapper.unwrap(number) }
        guard abs(SequenceNumber(truncating: highest).distance(to: number)) <= Self.farthest else { return nil }
        return unwrapper.unwrap(number)
    }
}
