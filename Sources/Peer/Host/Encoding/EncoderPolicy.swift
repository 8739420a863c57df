package import MediaCore
package import MediaEngine

/// Decides what the encoders of a broadcast produce, from what its viewers can receive: which encodings, their bitrates
/// and layers, and the bitrate of audio. Called after each frame; allocates nothing.
package struct EncoderPolicy {
    /// The settings for the video and audio threads.
    package struct Decision: Equatable {
        /// nil if no viewer gets this encoding.
        package var main: EncodingTarget?
        package var low: EncodingTarget?
        /// The expected loss of audio packets for Opus, 0...1.
        package var audioLoss: Double
        /// The bitrate limits of all audio tracks together for the slowest and the fastest viewer; nil for no limit.
        package var audioLimits: ClosedRange<Bitrate>?

        package init(
            main: EncodingTarget?, low: EncodingTarget? = nil, audioLoss: Double = 0,
            audioLimits: ClosedRange<Bitrate>? = nil
        ) {
            self.main = main
            self.low = low
            self.audioLoss = audioLoss
            self.audioLimits = audioLimits
        }

        package var hasViewers: Bool { main != nil || low != nil }
        package subscript(encoding: EncodingID) -> EncodingTarget? { encoding == .main ? main : low }
    }

    /// The bandwidths and backlogs of the receiving viewers, added one by one.
    struct Load {
        var main = EncodingAudience()
        var low = EncodingAudience()
        var loss = 0.0
        /// At least one viewer has been cut off and waits until its backlog has been sent.
        var isDraining = false
        fileprivate(set) var fastest = Bitrate(bitsPerSecond: 0)
        fileprivate var slowestAudio = Bitrate(bitsPerSecond: .max)
        fileprivate var fastestAudio = Bitrate(bitsPerSecond: 0)

        /// Adds one viewer's bandwidth for video and for audio.
        mutating func add(video: Bitrate, audio: Bitrate) {
            fastest = max(fastest, video)
            slowestAudio = min(slowestAudio, audio)
            fastestAudio = max(fastestAudio, audio)
        }

        /// When `decide` has to be called again if no frame is made until then; nil if the next frame is soon enough.
        func recheck(now: MediaInstant) -> MediaInstant? {
            if main.congested > 0 || low.congested > 0 { return now + .milliseconds(5) }
            return isDraining ? now + .milliseconds(50) : nil
        }

        func isDivided(_ encoding: EncodingID) -> Bool { (encoding == .main ? main : low).isDivided }
    }

    private let maximumBitrate: Bitrate
    private let hasAudio: Bool
    private(set) var decision: Decision?
    /// For viewers that are connecting; nil: there are none.
    private(set) var expected: EncodingTarget?
    /// The bitrate of the main encoding in the last second.
    private var mainBitrate = SentBitrateMeter()
    private var lastSelection: MediaInstant?
    private static let selectionInterval = MediaDuration.milliseconds(200)

    init(maximumBitrate: Bitrate, hasAudio: Bool) {
        self.maximumBitrate = maximumBitrate
        self.hasAudio = hasAudio
    }

    mutating func note(frameOf encoding: EncodingID, bytes: Int, now: MediaInstant) {
        if encoding == .main { mainBitrate.note(bytes: bytes, now: now) }
    }

    /// The present bitrate of the main encoding.
    mutating func mainBitrate(now: MediaInstant) -> Bitrate { mainBitrate.rate(now: now) }

    /// - Returns: the new decision; nil if it is unchanged.
    mutating func decide(_ load: Load, now: MediaInstant) -> Decision? {
        let new = Decision(
            main: target(load.main, decision?.main, now), low: target(load.low, decision?.low, now),
            audioLoss: load.loss, audioLimits: audioLimits(load.slowestAudio, load.fastestAudio))
        guard new != decision else { return nil }
        decision = new
        return new
    }

    /// Sets `expected`.
    /// - Parameter audience: the viewers that are connecting.
    /// - Returns: whether that has changed it.
    mutating func expect(_ audience: EncodingAudience, now: MediaInstant) -> Bool {
        let former = expected
        expected = target(audience, nil, now)
        return expected != former
    }

    /// Whether viewers have to be assigned to encodings now: every 200 ms while there is a choice, and at once after a
    /// viewer was cut off.
    mutating func selectionIsDue(viewers: Int, hasCutOff: Bool, now: MediaInstant) -> Bool {
        guard viewers > 1 || decision?.low != nil else { return false }
        guard hasCutOff || lastSelection.map({ now - $0 >= Self.selectionInterval }) ?? true else { return false }
        lastSelection = now
        return true
    }

    private func target(_ load: EncodingAudience, _ last: EncodingTarget?, _ now: MediaInstant) -> EncodingTarget? {
        guard !load.isEmpty else { return nil }
        return load.target(maximum: maximumBitrate, wasLayered: last?.layering != nil, now: now)
    }

    /// Returns limits in steps of 8 kbit/s, so that few new estimates change them; nil where there is enough for any
    /// audio.
    private func audioLimits(_ slowest: Bitrate, _ fastest: Bitrate) -> ClosedRange<Bitrate>? {
        let enough = Bitrate.kilobits(600)
        guard hasAudio, slowest < enough, slowest <= fastest else { return nil }
        let steps = [slowest, min(fastest, enough)].map { Bitrate.kilobits($0.bitsPerSecond / 8_000 * 8) }
        return steps[0]...steps[1]
    }
}
