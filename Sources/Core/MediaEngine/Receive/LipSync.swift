public import MediaCore

/// Decides how long to delay video frames, so that audio does not lag audibly behind them.
///
/// Audio is never delayed for video. A lag of up to 100 ms is not noticed.
public struct LipSync: Equatable, Sendable {
    private static let tolerance = MediaDuration.milliseconds(100)
    private static let longestHold = MediaDuration.milliseconds(400)

    /// Delay from capture to playout. It includes the offset between the sender's clock and the local one, so only the
    /// difference to that of video is meaningful.
    private var audioDelay: MediaDuration?
    private var lastAudio: MediaInstant?

    public init() {}

    /// Takes in an audio packet that was given to the player.
    /// - Parameters:
    ///   - captured: by the sender's clock, whose offset is the same for video.
    ///   - latency: until a sample given now is heard.
    public mutating func noteAudio(captured: MediaInstant, latency: MediaDuration, now: MediaInstant) {
        let delay = now - captured + latency
        audioDelay =
            audioDelay.map { MediaDuration(nanoseconds: ($0.nanoseconds &* 15 &+ delay.nanoseconds) / 16) } ?? delay
        lastAudio = now
    }

    /// How long a frame that could be shown now is to be delayed.
    /// - Returns: 0 unless audio is played and lags by more than 100 ms; at most 400 ms.
    public func hold(captured: MediaInstant, now: MediaInstant) -> MediaDuration {
        guard let audioDelay, let lastAudio, now - lastAudio < .seconds(1) else { return .zero }
        let lag = audioDelay - (now - captured)
        guard lag > Self.tolerance else { return .zero }
        return min(lag - Self.tolerance, Self.longestHold)
    }
}
