import MediaCore

/// Learns the capacity of the path from packets that left close together: how far apart they arrive shows what the narrowest
/// link carries. Frames that leave as a burst are probes, and so is padding.
struct PacketTrainEstimator {
    struct Result: Equatable {
        var rate: Bitrate
        /// They arrived more slowly than they left: this is the capacity, not a lower bound of it.
        var isSaturated: Bool
    }

    private static let longestPause = MediaDuration.milliseconds(12)
    private static let longestTrain = MediaDuration.milliseconds(120)
    /// Shorter ones say more about timers than about the path.
    private static let shortest = 0.005
    private static let fewestPackets = 5
    private static let fewestBytes = 4_000

    private var packets = 0
    /// Packets came since the result was taken.
    private var hasNews = false
    private var bytes = 0
    private var firstBytes = 0
    private var lastBytes = 0
    private var firstSent = MediaInstant(nanoseconds: 0)
    private var lastSent = MediaInstant(nanoseconds: 0)
    private var firstArrival = MediaInstant(nanoseconds: 0)
    private var lastArrival = MediaInstant(nanoseconds: 0)

    /// Takes one packet in, in the order of sending.
    /// - Returns: what the train before it showed, if it ends one.
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

    /// What the train shows so far; nil if it is too short, or if nothing has come since this was asked.
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
