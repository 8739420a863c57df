public import MediaCore
public import RTPWire

/// Decides how long to hold pictures back, so that sound does not lag behind them audibly.
///
/// Sound is never held for the picture: it is late anyway when it has to be buffered. Under 100 ms nobody notices.
public struct LipSync: Equatable, Sendable {
    private static let tolerance = MediaDuration.milliseconds(100)
    private static let longestHold = MediaDuration.milliseconds(400)

    /// From capture to ear, on the sender's wall clock and ours together: only good for comparing with the picture.
    private var soundDelay: MediaDuration?
    private var lastSound: MediaInstant?

    public init() {}

    /// A sound packet was given to the player.
    /// - Parameters:
    ///   - captured: on the sender's wall clock.
    ///   - local: our wall clock now, any epoch, but the same as for pictures.
    ///   - latency: until what is given now is heard.
    public mutating func noteSound(
        captured: NTPTimestamp, local: NTPTimestamp, latency: MediaDuration, now: MediaInstant
    ) {
        let delay = captured.duration(to: local) + latency
        soundDelay =
            soundDelay.map { MediaDuration(nanoseconds: ($0.nanoseconds &* 15 &+ delay.nanoseconds) / 16) } ?? delay
        lastSound = now
    }

    /// How long a picture that could be shown now is to be held.
    /// - Returns: 0 unless sound is heard and lags more than 100 ms.
    public func hold(captured: NTPTimestamp, local: NTPTimestamp, now: MediaInstant) -> MediaDuration {
        guard let soundDelay, let lastSound, now - lastSound < .seconds(1) else { return .zero }
        let lag = soundDelay - captured.duration(to: local)
        guard lag > Self.tolerance else { return .zero }
        return min(lag - Self.tolerance, Self.longestHold)
    }
}
