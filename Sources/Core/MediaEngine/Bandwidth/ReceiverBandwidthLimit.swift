import MediaCore

/// Decides whether the receiver's own estimate (REMB, draft-alvestrand-rmcat-remb-03) is a limit.
///
/// A receive-side estimator starts from the bitrate that arrives, and grows by some percent a second up to 1.5 x what
/// arrives (draft-ietf-rmcat-gcc-02 section 5.5). For an application-limited sender REMB therefore echoes the bitrate
/// that was sent, and goes on doing so when much more arrives. Such an estimate is no limit until it falls while the
/// path shows a queue or losses, or while the estimate is fully used.
///
/// The first estimate of libwebrtc is computed from the first packets, mostly audio. It is far below what arrives by
/// then, and grows by 8 % a second (`aimd_rate_control.cc`). A first estimate below the sent bitrate is therefore a
/// limit only if it does not grow.
struct ReceiverBandwidthLimit {
    /// An estimate expires after so long. REMB is repeated about every second.
    private static let lasts = MediaDuration.seconds(10)
    /// Bits/s that an echo may exceed 1.5 x the sent bitrate by.
    private static let echoAllowance = 50_000
    private static let window = MediaDuration.seconds(2)

    /// A first estimate below the sent bitrate becomes a limit after so long without growth.
    private static let growthPatience = MediaDuration.seconds(2)

    /// How the last estimate of the receiver is interpreted.
    private enum State {
        case none
        /// The first estimate, below the sent bitrate.
        case low(first: Bitrate, since: MediaInstant)
        /// The estimate echoes the sent bitrate; the last value.
        case echo(Bitrate)
        case limit(Bitrate)
    }

    private var state = State.none
    private var until = MediaInstant(nanoseconds: .min)
    /// The lowest and the highest bitrate sent over a second, in this window of 2 s and in the one before.
    private var sent: ClosedRange<Bitrate>?
    private var sentBefore: ClosedRange<Bitrate>?
    private var windowStart = MediaInstant(nanoseconds: 0)
    private var began: MediaInstant?
    /// The rate that a receiver with transport-wide feedback allows, and its end; for `BandwidthEstimator`.
    var allowed: (rate: Bitrate, until: MediaInstant)?

    /// Takes in the bitrate sent over the last second; called about once a second.
    mutating func note(sentBitrate: Bitrate, now: MediaInstant) {
        // During the first second the meter counts less than the bitrate.
        if began == nil, sentBitrate.bitsPerSecond > 0 { began = now }
        guard let began, now - began >= .seconds(1) else { return }
        if sent == nil || now - windowStart >= Self.window {
            sentBefore = now - windowStart < Self.window * 2 ? sent : nil
            sent = sentBitrate...sentBitrate
            windowStart = now
        } else if let range = sent {
            sent = min(range.lowerBound, sentBitrate)...max(range.upperBound, sentBitrate)
        }
    }

    /// Takes in an estimate of the receiver.
    /// - Parameters:
    ///   - said: the estimate.
    ///   - sentBitrate: the bitrate sent over the last second.
    ///   - isUsed: the sender used what its own estimate allowed.
    ///   - hasTrouble: the path shows a queue or losses.
    mutating func note(_ said: Bitrate, sentBitrate: Bitrate, isUsed: Bool, hasTrouble: Bool, now: MediaInstant) {
        note(sentBitrate: sentBitrate, now: now)
        if now >= until { state = .none }
        let isEcho = isLikeSent(said)
        let isBinding = hasTrouble || isUsed && said.bitsPerSecond >= sentBitrate.bitsPerSecond / 2
        switch state {
        case .none:
            if isBelow(said, sentRange?.lowerBound ?? sentBitrate) {
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
            // The estimate fell because less was sent. The former limit stays until it expires.
            if isEcho, !isBinding, said < limit { return }
            state = .limit(said)
        }
        until = now + Self.lasts
    }

    /// The limit; nil if there is none.
    func limit(now: MediaInstant) -> Bitrate? {
        guard case .limit(let limit) = state, now < until else { return nil }
        return limit
    }

    /// The lowest and the highest bitrate sent over a second, within the last 2 to 4 seconds.
    private var sentRange: ClosedRange<Bitrate>? {
        guard let sent else { return nil }
        guard let sentBefore else { return sent }
        return min(sent.lowerBound, sentBefore.lowerBound)...max(sent.upperBound, sentBefore.upperBound)
    }

    /// More than 20 % below.
    private func isBelow(_ said: Bitrate, _ sent: Bitrate) -> Bool {
        said.bitsPerSecond < sent.bitsPerSecond / 10 &* 8
    }

    /// The estimate can be an echo of the bitrate sent over the last seconds.
    private func isLikeSent(_ said: Bitrate) -> Bool {
        guard let range = sentRange, !isBelow(said, range.lowerBound) else { return false }
        return said.bitsPerSecond <= range.upperBound.bitsPerSecond / 2 &* 3 &+ Self.echoAllowance
    }
}
