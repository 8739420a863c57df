import MediaCore

/// Gives each frame and packet its time in the recording, which begins with zero when the first one arrives and goes on
/// through pauses, outages and new sessions.
struct RecordingTimeline {
    /// When the first frame or packet arrived; nil before.
    private(set) var start: MediaInstant?
    private var video = TrackClock(rate: 90_000)
    private var audio: [TrackClock] = []
    /// Capture time minus recording time, shared by all tracks.
    private var origin: MediaDuration?
    private var lastVideo: Int64 = -1
    private var lastAudio: [Int64] = []

    /// More tracks than a session can have.
    static let trackLimit = 16

    /// Another session begins.
    mutating func restart() {
        video.restart()
        for index in audio.indices { audio[index].restart() }
    }

    /// Returns the length of the recording at an instant, in milliseconds.
    func elapsed(at now: MediaInstant) -> Int64 { start.map { max((now - $0).milliseconds, 0) } ?? 0 }

    /// - Returns: in milliseconds; later than that of the frame before.
    mutating func videoTime(_ timestamp: UInt32, arrival: MediaInstant, captured: MediaInstant?) -> Int64 {
        let time = video.time(timestamp, arrival: sinceStart(arrival), captured: captured, origin: &origin)
        lastVideo = max(time.milliseconds, lastVideo + 1)
        return lastVideo
    }

    /// - Returns: in milliseconds; nil if the packet belongs before the start or before the last packet.
    mutating func audioTime(
        track: Int, _ timestamp: UInt32, arrival: MediaInstant, captured: MediaInstant?
    ) -> Int64? {
        guard track >= 0, track < Self.trackLimit else { return nil }
        while audio.count <= track {
            audio.append(TrackClock(rate: 48_000))
            lastAudio.append(-1)
        }
        let time = audio[track].time(timestamp, arrival: sinceStart(arrival), captured: captured, origin: &origin)
        let milliseconds = time.milliseconds
        guard milliseconds >= 0, milliseconds >= lastAudio[track] else { return nil }
        lastAudio[track] = milliseconds
        return milliseconds
    }

    private mutating func sinceStart(_ arrival: MediaInstant) -> MediaDuration {
        let first = start ?? arrival
        start = first
        return arrival - first
    }
}

extension MediaDuration {
    /// Rounded to the nearest.
    fileprivate var milliseconds: Int64 { (nanoseconds &+ 500_000).quotientRounded(1_000_000) }
}

extension Int64 {
    /// Rounded towards minus infinity.
    fileprivate func quotientRounded(_ divisor: Int64) -> Int64 {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }
}
