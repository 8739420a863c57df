import MediaCore

/// Watches over the last packets before a rest. A lost packet shows in the gap that the next one makes; the last has no next, and
/// on a screen the next may come minutes later. So as long as the other side has not confirmed the last video packet it is
/// repeated, after longer and longer pauses.
struct TailLossProbe {
    private static let most = 6
    private static let mostWhenLossy = 20
    private var sequence: Int64 = -1
    private var tries = 0
    private var nextTry = MediaInstant.distantFuture
    private var isConfirmed = true

    /// A video packet left.
    /// - Parameter isLossy: the path loses packets: it is not waited for long.
    mutating func noteSent(_ sequence: Int64, now: MediaInstant, roundTrip: MediaDuration, isLossy: Bool) {
        self.sequence = sequence
        tries = 0
        isConfirmed = false
        nextTry = now + pause(roundTrip, isLossy)
    }

    /// The other side has got everything up to here.
    mutating func noteConfirmed() {
        isConfirmed = true
        nextTry = .distantFuture
    }

    /// The other side says that it did not get it.
    mutating func noteLost(now: MediaInstant) {
        if !isConfirmed, tries < Self.most { nextTry = min(nextTry, now) }
    }

    mutating func noteRepeated(now: MediaInstant, roundTrip: MediaDuration, isLossy: Bool) {
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
