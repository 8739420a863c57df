import MediaCore

/// Sends the last video packet again until the receiver confirms it. NACK detects a loss by the gap before the next
/// packet, but on a still screen the next packet may come minutes later.
///
/// Adapts TCP's tail loss probe (RFC 8985 section 7) with up to 6 probes at increasing intervals; on a lossy path 20,
/// which begin earlier.
struct TailLossProbe {
    private static let most = 6
    private static let mostWhenLossy = 20
    private var sequence: Int64 = -1
    private var tries = 0
    private var nextTry = MediaInstant.distantFuture
    private var isConfirmed = true
    /// The transport-wide number of the last packet's last transmission.
    private(set) var transportSequence: Int64 = -1

    /// A video packet was sent.
    /// - Parameters:
    ///   - transportSequence: its transport-wide number.
    ///   - isLossy: the path loses packets, so the probes begin after half a round trip, 40 ms at least.
    mutating func noteSent(
        _ sequence: Int64, transportSequence: Int64, now: MediaInstant, roundTrip: MediaDuration, isLossy: Bool
    ) {
        self.sequence = sequence
        self.transportSequence = transportSequence
        tries = 0
        isConfirmed = false
        nextTry = now + pause(roundTrip, isLossy)
    }

    /// The receiver has all packets up to the last one.
    mutating func noteConfirmed() {
        isConfirmed = true
        nextTry = .distantFuture
    }

    /// The last packet was sent again, with another transport-wide number.
    mutating func noteRetransmitted(transportSequence: Int64) { self.transportSequence = transportSequence }

    /// The receiver reported a packet as lost.
    mutating func noteLost(transportSequence: Int64, now: MediaInstant) {
        if transportSequence == self.transportSequence, !isConfirmed, tries < Self.most { nextTry = min(nextTry, now) }
    }

    mutating func noteProbeSent(now: MediaInstant, roundTrip: MediaDuration, isLossy: Bool) {
        tries += 1
        nextTry = tries >= (isLossy ? Self.mostWhenLossy : Self.most) ? .distantFuture : now + pause(roundTrip, isLossy)
    }

    var deadline: MediaInstant { nextTry }
    var waitsFor: Int64? { isConfirmed ? nil : sequence }

    private func pause(_ roundTrip: MediaDuration, _ isLossy: Bool) -> MediaDuration {
        if isLossy {
            let half = MediaDuration(nanoseconds: roundTrip.nanoseconds / 2)
            return max(half, .milliseconds(40)) * Int64(1 << max(tries / 4 - 2, 0))
        }
        return max(roundTrip * 2 + .milliseconds(110), .milliseconds(150)) * Int64(1 << min(tries, 4))
    }
}
