import MediaCore

/// Estimates the path's capacity from the dispersion of packet trains, with the rules of libwebrtc's
/// `probe_bitrate_estimator.cc`. Differs in that every burst of packets is a train: the packets of one frame as well as
/// a probe.
struct PacketTrainEstimator {
    /// The rate that one packet train showed.
    struct Result: Equatable {
        var rate: Bitrate
        /// The packets arrived more slowly than they were sent (below 0.9 x), so the rate is the capacity and not just
        /// a lower bound.
        var isSaturated: Bool
    }

    /// A longer pause between two packets begins a new train.
    private static let longestPause = MediaDuration.milliseconds(12)
    private static let longestTrain = MediaDuration.milliseconds(120)
    /// In seconds. Shorter times are counted as this, as timer granularity distorts them.
    private static let shortest = 0.005
    private static let fewestPackets = 5
    private static let fewestBytes = 4_000

    private var packets = 0
    /// Packets arrived since the result was last taken.
    private var hasNews = false
    private var bytes = 0
    private var firstBytes = 0
    private var lastBytes = 0
    private var firstSent = MediaInstant(nanoseconds: 0)
    private var lastSent = MediaInstant(nanoseconds: 0)
    private var firstArrival = MediaInstant(nanoseconds: 0)
    private var lastArrival = MediaInstant(nanoseconds: 0)

    /// Takes in one packet, in the order of sending.
    /// - Returns: the result of the preceding train, if this packet begins a new one.
    mutating func note(bytes size: Int, sent: MediaInstant, arrival: MediaInstant) -> Result? {
        guard packets > 0, sent >= lastSent, sent - lastSent <= Self.longestPause,
            sent - firstSent <= Self.longestTrain, arrival - lastArrival > .milliseconds(-20)
        else {
            let result = takeResult()
            packets = 1
            bytes = size
            firstBytes = size
            lastBytes = size
            firstSent = sent
            lastSent = sent
            firstArrival = arrival
            lastArrival = arrival
            return result
        }
        hasNews = true
        packets &+= 1
        bytes &+= size
        lastBytes = size
        lastSent = sent
        if arrival > lastArrival { lastArrival = arrival }
        return nil
    }

    /// The result of the train so far; nil if it is shorter than 5 packets or 4,000 bytes, or if nothing has arrived
    /// since the last call.
    mutating func takeResult() -> Result? {
        guard hasNews, packets >= Self.fewestPackets, bytes >= Self.fewestBytes else { return nil }
        hasNews = false
        let sending = max((lastSent - firstSent).inSeconds, Self.shortest)
        let arriving = max((lastArrival - firstArrival).inSeconds, Self.shortest)
        let sendRate = Double(bytes &- lastBytes) * 8 / sending
        let arrivalRate = Double(bytes &- firstBytes) * 8 / arriving
        let isSaturated = arrivalRate < 0.9 * sendRate
        return Result(
            rate: Bitrate(bitsPerSecond: Int(isSaturated ? 0.95 * arrivalRate : min(sendRate, arrivalRate))),
            isSaturated: isSaturated)
    }
}
