import MediaCore

/// The estimators that the arrival times of packets feed: the trend and the size of the queue, the acknowledged bitrate
/// and packet trains.
struct ArrivalEstimators {
    private var trend = TrendlineEstimator()
    private var queue = QueueDelayEstimator()
    private var acknowledged = AcknowledgedBitrateEstimator()
    private var trains = PacketTrainEstimator()
    /// The last one-way delay, with the offset of the clocks.
    private var lastOneWayDelay: MediaDuration?
    /// Send time of the last video packet that arrived.
    private var lastVideoSent: MediaInstant?

    var signal: TrendlineEstimator.Signal { trend.signal }
    /// The standing queue delay of the path.
    var queueDelay: MediaDuration { queue.standing }
    var acknowledgedRate: Bitrate? { acknowledged.rate }

    /// Resets the estimators after a step of more than 1 s in the one-way delay: the receiver's clock was set, or the
    /// path stalled.
    /// - Returns: whether they were reset.
    mutating func noteClock(sent: MediaInstant, arrival: MediaInstant) -> Bool {
        let oneWayDelay = arrival - sent
        defer { lastOneWayDelay = oneWayDelay }
        guard let lastOneWayDelay, abs(Double((oneWayDelay - lastOneWayDelay).nanoseconds)) > 1e9 else { return false }
        trend = TrendlineEstimator()
        queue = QueueDelayEstimator()
        acknowledged = AcknowledgedBitrateEstimator()
        trains = PacketTrainEstimator()
        return true
    }

    /// Takes in one received packet, in the order of sending.
    /// - Returns: the result of a packet train that ended.
    mutating func note(
        bytes: Int, sent: MediaInstant, arrival: MediaInstant, isAudio: Bool
    ) -> PacketTrainEstimator.Result? {
        // Audio packets that queue behind a burst of video would look like a delay trend. They are used only while no
        // video was sent for 2 s.
        if isAudio {
            if lastVideoSent.map({ sent - $0 > .seconds(2) }) ?? true { trend.note(sent: sent, arrival: arrival) }
        } else {
            lastVideoSent = sent
            trend.note(sent: sent, arrival: arrival)
        }
        queue.note(sent: sent, arrival: arrival)
        acknowledged.note(bytes: bytes, at: arrival)
        return trains.note(bytes: bytes, sent: sent, arrival: arrival)
    }

    /// Counts packets whose feedback was lost as received.
    mutating func noteUnreported(bytes: Int, arrival: MediaInstant) { acknowledged.note(bytes: bytes, at: arrival) }

    /// Ends a feedback message.
    /// - Returns: the result of a packet train that ended with it.
    mutating func finishBatch() -> PacketTrainEstimator.Result? {
        queue.finishBatch()
        return trains.takeResult()
    }

    /// Takes in the round trip time of a receiver report as queue delay, for peers without transport-wide feedback.
    mutating func noteRoundTrip(_ time: MediaDuration, now: MediaInstant) {
        queue.note(sent: now, arrival: now + time)
        queue.finishBatch()
    }
}
