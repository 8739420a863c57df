import MediaCore

/// Decides what is sent redundantly, without a request, on a path that loses packets: duplicates of video packets, and
/// earlier audio packets in RED (RFC 2198).
struct RedundancyController {
    var loss = LossEstimator()
    private var schedule = PacketDuplicationSchedule()
    /// The bitrate of duplicates.
    private var rate = SentBitrateMeter()
    private(set) var duplicates = 0

    /// The path loses so many packets that video packets are duplicated.
    var isLossy: Bool { loss.duplicateCount > 0 }
    /// When the next duplicate is due.
    var deadline: MediaInstant { schedule.deadline }

    /// How many duplicates of a frame's packets to send: none unless the path loses packets and less than half of the
    /// estimate is used.
    /// - Parameter sentBitrate: the bitrate sent over the last second.
    mutating func affordableDuplicates(
        _ packets: Int, bytes: Int, path: PathConditions, sentBitrate: Bitrate, now: MediaInstant
    ) -> Int {
        guard packets <= 64 else { return 0 }
        var count = loss.duplicateCount
        guard count > 0, path.queueDelay < .milliseconds(25) else { return 0 }
        let estimate = path.estimate.bitsPerSecond
        guard sentBitrate.bitsPerSecond < estimate / 2 else { return 0 }
        // Frames of many packets get fewer duplicates: a loss in their middle shows at once, and with a short round
        // trip NACK repairs it soon.
        let isRepairedSoon = packets > 3 && path.roundTrip < .milliseconds(100)
        let room = estimate / (isRepairedSoon ? 10 : 5) &- rate.rate(now: now).bitsPerSecond
        while count > 0, bytes &* 8 &* count > room { count &-= 1 }
        return count
    }

    /// Schedules duplicates of a packet that was just sent.
    mutating func add(_ sequence: Int64, count: Int, now: MediaInstant) {
        schedule.add(sequence, count: count, now: now)
    }

    /// The sequence number of the next duplicate that is due; nil if none is.
    mutating func takeDue(now: MediaInstant) -> Int64? { schedule.takeDue(now: now) }

    mutating func noteSent(bytes: Int, now: MediaInstant) {
        duplicates &+= 1
        rate.note(bytes: bytes, now: now)
    }

    mutating func removeAll() { schedule.removeAll() }

    /// Which earlier audio packets an Opus packet is sent with in RED, by the loss of the path. All audio may use a
    /// third of the estimate.
    /// - Parameters:
    ///   - tracks: how many audio streams there are.
    ///   - isSpaced: as for `LossEstimator.redundancyDistances`.
    func distances(
        for packet: UnsafeRawBufferPointer, tracks: Int, estimate: Bitrate, isSpaced: Bool
    ) -> RedundancyDistances {
        let wanted = loss.redundancyDistances(isSpaced: isSpaced)
        let rate = packet.count &* 8 &* AudioFormat.sampleRate / OpusPacket.samplesPerChannel(packet) &* tracks
        let room = estimate.bitsPerSecond / 3
        return wanted.prefix(room / max(rate, 1) &- 1)
    }
}
