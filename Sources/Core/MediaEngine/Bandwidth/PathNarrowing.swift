import MediaCore

/// Detects that a path which had become narrower is wide again: packet trains arrive much faster than those that were
/// saturated when the rate was decreased. With competing flows they do not, as trains show the capacity of the path
/// then, too. Compare the recovery probing of libwebrtc's `probe_controller.cc` (`RequestProbe`), which takes one probe
/// for it.
struct PathNarrowing {
    /// Trains behind a queue of this delay show the capacity. Several are compared, as a train that competes with
    /// another flow shows less.
    private static let queue = MediaDuration.milliseconds(30)
    /// Trains further apart belong to two queues.
    private static let episode = MediaDuration.seconds(2)
    /// A flow that gets less than this share of the capacity has others beside it.
    private static let ownShare = 0.75
    /// A decrease so long after a train answers its queue.
    private static let memory = MediaDuration.seconds(3)
    /// The least share by which trains must exceed that capacity.
    private static let excess = 1.5
    /// A decrease to less than this share of the rate is a drop.
    private static let dropShare = 0.7
    /// How long after a drop its capacity is compared with.
    private static let validity = MediaDuration.seconds(120)
    /// Probes are more frequent for so long after a drop.
    private static let recovery = MediaDuration.seconds(10)
    /// Trains that exceed the capacity are followed by another probe soon, so often at most until the rate changes.
    private static let mostPromises = 4
    /// The rate has to be below this share of such a train.
    private static let promiseShare = 0.8
    /// A decrease so soon after an increase shows that trains overestimate the path, as behind a token bucket.
    private static let trial = MediaDuration.seconds(5)
    private static let shortestPause = MediaDuration.seconds(8)
    private static let longestPause = MediaDuration.seconds(64)
    /// In per cent.
    private static let probeShare = 10
    static let longestProbePause = MediaDuration.seconds(5)

    /// The fastest saturated train of the last queue, and when the last one was seen.
    private var saturated: (rate: Bitrate, at: MediaInstant)?
    /// The capacity at the last decrease; nil if no train showed it.
    private var capacity: Bitrate?
    private var lastDrop: MediaInstant?
    /// The last train, if it exceeded the capacity, and how many have since the rate was changed.
    private var promise: Bitrate?
    private var promises = 0
    private var lastIncrease: MediaInstant?
    private var pause = shortestPause
    private var pausedUntil: MediaInstant?

    /// - Parameter rate: of a packet train that arrived more slowly than it was sent.
    mutating func note(saturated rate: Bitrate, queueDelay: MediaDuration, now: MediaInstant) {
        guard queueDelay >= Self.queue else { return }
        let isSameQueue = saturated.map { now - $0.at < Self.episode } ?? false
        saturated = (isSameQueue ? max(rate, saturated?.rate ?? rate) : rate, now)
        if isSameQueue, let last = capacity { capacity = max(last, rate) }
    }

    /// - Parameter acknowledged: what arrives at present.
    mutating func noteDecrease(
        from former: Bitrate, to rate: Bitrate, acknowledged: Bitrate?, now: MediaInstant
    ) {
        let isDrop = Double(rate.bitsPerSecond) < Self.dropShare * Double(former.bitsPerSecond)
        let isWithinDrop = lastDrop.map { now - $0 < Self.episode } ?? false
        if isDrop { lastDrop = now }
        if let train = saturated, now - train.at < Self.memory {
            let isAlone = acknowledged.map {
                Double($0.bitsPerSecond) >= Self.ownShare * Double(train.rate.bitsPerSecond)
            }
            // A train that had begun before the drop shows more than the path has since: what gets through is less then.
            // A capacity that is too high is exceeded later, and does no harm.
            if isAlone == true { capacity = train.rate } else if !isWithinDrop { capacity = nil }
        } else if isDrop {
            capacity = nil
        }
        (promise, promises) = (nil, 0)
        if let lastIncrease, now - lastIncrease < Self.trial {
            pausedUntil = now + pause
            pause = min(pause + pause, Self.longestPause)
            self.lastIncrease = nil
        }
    }

    /// The rate was raised since the path is wide again.
    mutating func noteIncrease(now: MediaInstant) {
        if pausedUntil.map({ now - $0 > Self.longestPause }) ?? true { pause = Self.shortestPause }
        lastIncrease = now
        promises = 0
    }

    /// Takes in a packet train.
    /// - Parameters:
    ///   - rate: the lower one of the last two trains.
    ///   - latest: that of the last one.
    /// - Returns: whether the path is wider than it was.
    mutating func note(_ rate: Bitrate, latest: Bitrate, now: MediaInstant) -> Bool {
        promise = isOver(latest, now) ? latest : nil
        if promise != nil { promises += 1 }
        return isOver(rate, now)
    }

    private func isOver(_ rate: Bitrate, _ now: MediaInstant) -> Bool {
        guard let capacity, isKnown(now) else { return false }
        return Double(rate.bitsPerSecond) > Self.excess * Double(capacity.bitsPerSecond)
    }

    /// The capacity of a drop is known, and may be compared with.
    private func isKnown(_ now: MediaInstant) -> Bool {
        guard capacity != nil, let lastDrop, now - lastDrop < Self.validity else { return false }
        return pausedUntil.map { now >= $0 } ?? true
    }

    /// How long after a probe the next one may be sent: a second, and so long that probes take `probeShare` of the rate
    /// at most.
    func probePause(at rate: Bitrate, now: MediaInstant) -> MediaDuration {
        guard let lastDrop, isKnown(now) else { return Self.longestProbePause }
        if let promise, promises <= Self.mostPromises,
            Double(rate.bitsPerSecond) < Self.promiseShare * Double(promise.bitsPerSecond)
        {
            return .milliseconds(150)
        }
        guard now - lastDrop < Self.recovery else { return Self.longestProbePause }
        let share = Bitrate(bitsPerSecond: max(rate.bitsPerSecond / 100 * Self.probeShare, 1))
        return min(max(.seconds(1), share.duration(ofBytes: ProbeController.fewestBytes)), Self.longestProbePause)
    }
}
