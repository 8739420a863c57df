package import MediaCore
package import MediaEngine

/// Decides what the encoders of a broadcast make from what its viewers can receive: which encodings, their bitrates and
/// layers, and how much of the path audio may take. Called after each frame; allocates nothing.
package struct EncoderPolicy {
    /// What the video and audio threads are told.
    package struct Decision: Equatable {
        /// nil: no viewer gets this encoding.
        package var main: EncodingTarget?
        package var low: EncodingTarget?
        /// The fraction of audio packets that Opus has to make good for, 0...1.
        package var audioLoss: Double
        /// What all audio tracks together may take for the slowest and the fastest viewer; nil: no limit.
        package var audioLimits: ClosedRange<Bitrate>?

        package var hasViewers: Bool { main != nil || low != nil }
        package subscript(encoding: EncodingID) -> EncodingTarget? { encoding == .main ? main : low }
    }

    /// What the receiving viewers have, gathered one by one.
    struct Load {
        var main = EncodingLoad()
        var low = EncodingLoad()
        var loss = 0.0
        /// Some viewer has been cut off and waits until its backlog has left.
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

        /// When the load has to be looked at again although no frame was made; nil: with the next frame.
        func recheck(now: MediaInstant) -> MediaInstant? {
            if main.congested > 0 || low.congested > 0 { return now + .milliseconds(5) }
            return isDraining ? now + .milliseconds(50) : nil
        }

        func isDivided(_ encoding: EncodingID) -> Bool { (encoding == .main ? main : low).isDivided }
    }

    private let maximumBitrate: Bitrate
    private let hasAudio: Bool
    private(set) var decision: Decision?
    /// What the main encoding has taken in the last second.
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

    /// What the picture asks for at present.
    mutating func demand(now: MediaInstant) -> Bitrate { mainBitrate.rate(now: now) }

    /// - Returns: the new decision; nil if it is the former one.
    mutating func decide(_ load: Load, now: MediaInstant) -> Decision? {
        let new = Decision(
            main: target(load.main, decision?.main, now), low: target(load.low, decision?.low, now),
            audioLoss: load.loss, audioLimits: audioLimits(load.slowestAudio, load.fastestAudio))
        guard new != decision else { return nil }
        decision = new
        return new
    }

    /// Whether viewers are to be assigned to encodings now: every 200 ms while there is a choice, and at once when one
    /// was cut off.
    mutating func selectionIsDue(viewers: Int, hasCutOff: Bool, now: MediaInstant) -> Bool {
        guard viewers > 1 || decision?.low != nil else { return false }
        guard hasCutOff || lastSelection.map({ now - $0 >= Self.selectionInterval }) ?? true else { return false }
        lastSelection = now
        return true
    }

    private func target(_ load: EncodingLoad, _ last: EncodingTarget?, _ now: MediaInstant) -> EncodingTarget? {
        guard !load.isEmpty else { return nil }
        return load.demand(maximum: maximumBitrate, wasLayered: last?.layering != nil, now: now)
    }

    /// In steps of 8 kbit/s, so that few new estimates change it; nil where there is enough for any audio.
    private func audioLimits(_ slowest: Bitrate, _ fastest: Bitrate) -> ClosedRange<Bitrate>? {
        let enough = Bitrate.kilobits(600)
        guard hasAudio, slowest < enough, slowest <= fastest else { return nil }
        let steps = [slowest, min(fastest, enough)].map { Bitrate.kilobits($0.bitsPerSecond / 8_000 * 8) }
        return steps[0]...steps[1]
    }
}
