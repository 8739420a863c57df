import MediaCore

/// Smooths the round trip time of a session: by reports (LSR and DLSR of RFC 3550 section 6.4.1, or XR of RFC 3611),
/// else by the time from a packet to its transport-wide feedback.
struct RoundTripTimeEstimator {
    /// By reports; nil before the first one.
    private(set) var reported: MediaDuration?
    private var feedback: MediaDuration?

    /// nil before the first answer.
    var time: MediaDuration? { reported ?? feedback }

    /// Takes in the round trip time that one report measured.
    mutating func noteReport(_ time: MediaDuration) {
        reported = reported.map { MediaDuration(nanoseconds: ($0.nanoseconds &* 3 &+ time.nanoseconds) / 4) } ?? time
    }

    /// Takes in the time from a packet to its feedback: an upper bound of the round trip time, as it includes the
    /// feedback interval. Decreases take effect at once.
    mutating func noteFeedback(_ time: MediaDuration) {
        guard time > .zero, time < .seconds(10) else { return }
        feedback =
            feedback.map {
                time < $0 ? time : MediaDuration(nanoseconds: ($0.nanoseconds &* 15 &+ time.nanoseconds) / 16)
            } ?? time
    }
}
