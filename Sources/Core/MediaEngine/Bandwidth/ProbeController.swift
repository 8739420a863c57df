import MediaCore

/// Decides when to probe for bandwidth, after libwebrtc's `probe_controller.cc`: with 3 and 6 times the start bitrate
/// at the beginning, then with twice the estimate every 5 s while video is sent, no queue stands and the estimate is
/// below the maximum; more often after a drop of the rate (`PathNarrowing`). The second probe is sent only if the first
/// reached twice the start bitrate.
struct ProbeController {
    private static let length = MediaDuration.milliseconds(15)
    /// A packet train needs five packets (`PacketTrainEstimator`).
    static let fewestBytes = 5 * 1_200

    /// The probe that is being sent: its rate, the bytes still to send, and when it ends at the latest.
    private(set) var active: (rate: Bitrate, left: Int, until: MediaInstant)?
    private var nextFactor = 3
    private var lastAt: MediaInstant?

    /// Starts a probe if one is due.
    /// - Parameter isMoving: video frames were sent within the last 2 s.
    mutating func update(now: MediaInstant, start: Bitrate, bandwidth: BandwidthEstimator, isMoving: Bool) {
        if let probe = active {
            if probe.left <= 0 || now >= probe.until { active = nil } else { return }
        }
        guard !bandwidth.isAtMaximum else { return }
        if nextFactor <= 6 {
            // The second is sent only if the first arrived.
            if nextFactor == 6 {
                guard bandwidth.hasFeedback else { return }
                let reached = bandwidth.estimate.bitsPerSecond
                guard reached >= start.bitsPerSecond * 2 else { return nextFactor = 7 }
            }
            begin(Bitrate(bitsPerSecond: start.bitsPerSecond &* nextFactor), now)
            nextFactor += 3
            return
        }
        guard isMoving, bandwidth.hasFeedback, bandwidth.queueDelay < .milliseconds(20),
            lastAt.map({ now - $0 >= bandwidth.probePause(now: now) }) ?? true
        else { return }
        begin(Bitrate(bitsPerSecond: bandwidth.estimate.bitsPerSecond &* 2), now)
    }

    private mutating func begin(_ rate: Bitrate, _ now: MediaInstant) {
        let bytes = max(Int(Double(rate.bitsPerSecond) / 8 * Self.length.inSeconds), Self.fewestBytes)
        active = (rate, bytes, now + .milliseconds(60))
        lastAt = now
    }

    mutating func noteSent(bytes: Int) { active?.left -= bytes }
}
