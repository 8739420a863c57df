import MediaCore

/// What the other side says that its link carries (REMB), as far as it is a limit.
///
/// A receiver's estimator begins with what arrives, and grows by some percent a second, never beyond one and a half times of what arrives
/// (draft-ietf-rmcat-gcc-02 section 5.5). Of a screen that rests it therefore repeats what was sent, and goes on so when much more
/// arrives. Such an estimate is no limit until it falls while the path shows a queue or losses, or is fully used. libwebrtc's first one is
/// made of the first packets, mostly audio: far less than what arrives by then, and it grows by 8 % a second (`aimd_rate_control.cc`).
/// A first estimate below what is sent is therefore a limit only if it does not grow.
struct ReceiverBandwidthLimit {
    /// What is said about every second may be missing for so long.
    private static let lasts = MediaDuration.seconds(10)
    /// Beside one and a half times of what arrives.
    private static let echoAllowance = 50_000
    private static let window = MediaDuration.seconds(2)

    /// A first estimate below what is sent counts after so long without growth.
    private static let growthPatience = MediaDuration.seconds(2)

    private enum State {
        case none
        /// The first estimate, below what is sent.
        case low(first: Bitrate, since: MediaInstant)
        /// It repeats what was sent; the last that was said.
        case echo(Bitrate)
        case limit(Bitrate)
    }

    private var state = State.none
    private var until = MediaInstant(nanoseconds: .min)
    /// The least and the most that left in a second, in this window and the one before.
    private var sent: ClosedRange<Bitrate>?
    private var sentBefore: ClosedRange<Bitrate>?
    private var windowStart = MediaInstant(nanoseconds: 0)
    private var began: MediaInstant?

    /// Takes note of what left in the last second; about once a second.
    mutating func note(sending: Bitrate, now: MediaInstant) {
        // The first second is not over: less is counted than was sent.
        if began == nil, sending.bitsPerSecond > 0 { began = now }
        guard let began, now - began >= .seconds(1) else { return }
        if sent == nil || now - windowStart >= Self.window {
            sentBefore = now - windowStart < Self.window * 2 ? sent : nil
            sent = sending...sending
            windowStart = now
        } else if let range = sent {
            sent = min(range.lowerBound, sending)...max(range.upperBound, sending)
        }
    }

    /// Takes an estimate in.
    /// - Parameters:
    ///   - sending: what left in the last second.
    ///   - isUsed: that was as much as the estimate allowed.
    ///   - hasTrouble: the path shows a queue or losses.
    mutating func note(_ said: Bitrate, sending: Bitrate, isUsed: Bool, hasTrouble: Bool, now: MediaInstant) {
        note(sending: sending, now: now)
        if now >= until { state = .none }
        let isEcho = isLikeSent(said)
        let isBinding = hasTrouble || isUsed && said.bitsPerSecond >= sending.bitsPerSecond / 2
        switch state {
        case .none:
            if isBelow(said, sentRange?.lowerBound ?? sending) {
                state = .low(first: said, since: now)
            } else {
                state = isEcho && !isBinding ? .echo(said) : .limit(said)
            }
        case .low(let first, let since):
            if said.bitsPerSecond > first.bitsPerSecond / 100 &* 102 {
                state = .echo(said)
            } else if now - since >= Self.growthPatience || said.bitsPerSecond < first.bitsPerSecond / 10 &* 9 {
                state = .limit(said)
            }
        case .echo(let last):
            let hasJumped = !isEcho && said.bitsPerSecond / 2 > last.bitsPerSecond
            let hasFallen = said.bitsPerSecond < last.bitsPerSecond / 10 &* 9
            state = hasJumped || hasFallen && isBinding ? .limit(said) : .echo(said)
        case .limit(let limit):
            // Less than before because less was sent: the former limit stays, for as long as it lasts.
            if isEcho, !isBinding, said < limit { return }
            state = .limit(said)
        }
        until = now + Self.lasts
    }

    /// nil: none is known.
    func limit(now: MediaInstant) -> Bitrate? {
        guard case .limit(let limit) = state, now < until else { return nil }
        return limit
    }

    /// The least and the most that was sent in a second of the last seconds.
    private var sentRange: ClosedRange<Bitrate>? {
        guard let sent else { return nil }
        guard let sentBefore else { return sent }
        return min(sent.lowerBound, sentBefore.lowerBound)...max(sent.upperBound, sentBefore.upperBound)
    }

    private func isBelow(_ said: Bitrate, _ sent: Bitrate) -> Bool {
        said.bitsPerSecond < sent.bitsPerSecond / 10 &* 8
    }

    /// It may be made of nothing but what was sent in the last seconds.
    private func isLikeSent(_ said: Bitrate) -> Bool {
        guard let range = sentRange, !isBelow(said, range.lowerBound) else { return false }
        return said.bitsPerSecond <= range.upperBound.bitsPerSecond / 2 &* 3 &+ Self.echoAllowance
    }
}
