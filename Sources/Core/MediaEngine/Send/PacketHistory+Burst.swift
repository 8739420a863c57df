import MediaCore
import RTPWire

extension PacketHistory {
    /// Packets of a forwarded stream that were sent together.
    struct Burst {
        var count = 0
        /// Of whole packets.
        var bytes = 0
        var payloadBytes = 0
        /// Frames whose last packet is one of them.
        var frames = 0
        /// The sequence number of the last one.
        var last: Int64 = -1
    }

    /// Packets that are shorter than the longest one by no more than this are padded to its length, as the kernel sends
    /// packets of one length at once (UDP_SEGMENT). Browsers cut frames into parts that differ by a byte.
    private static let largestPadding = 16

    /// Adds the memory that the packets of a usual frame use.
    func addMemory(to list: inout PrefetchList) {
        addEntries(to: &list, count: 8)
        writer?.addMemory(to: &list)
    }

    /// Writes packets of a forwarded stream that wait, and counts them as sent.
    /// - Parameters:
    ///   - limit: how many at most, and how many bytes may have been written when another one is.
    ///   - transportSequence: the transport-wide number of the first.
    ///   - delays: gets for how long each packet could have been sent.
    mutating func takeBurst(
        into slots: PacketSlots, limit: (packets: Int, bytes: Int), transportSequence: Int64, now: MediaInstant,
        delays: inout DelayHistogram
    ) -> Burst {
        var burst = Burst()
        guard let writer else { return burst }
        let most = min(slots.count, limit.packets, waitingCount)
        let width = longest(most)
        let sendTime = AbsoluteSendTime(now)
        while burst.count < most, burst.bytes < limit.bytes, nextToSend < nextToWrite {
            let entry = waiting(nextToSend)
            let number = transportSequence &+ Int64(burst.count)
            let isPadded = entry.length < width && entry.length >= width &- Self.largestPadding
            let written = writer.write(
                entry, into: slots[burst.count], size: slots.size, width: isPadded ? width : 0,
                transportSequence: SequenceNumber(truncating: number), sendTime: sendTime)
            // The source may have overwritten it.
            noteSent(now: now, transportSequence: written == nil ? -1 : number)
            guard let written else { continue }
            if let delay = writer.delay(of: entry, now: now) { delays.note(delay) }
            slots.lengths[burst.count] = written
            burst.count &+= 1
            burst.bytes &+= written
            burst.payloadBytes &+= entry.length &- entry.layout.headerLength
            burst.frames &+= entry.layout.isMarked ? 1 : 0
            burst.last = entry.sequence
        }
        return burst
    }

    /// The length of the longest of the next packets that wait.
    private func longest(_ count: Int) -> Int {
        var length = 0
        for index in 0..<count { length = max(length, waiting(nextToSend &+ Int64(index)).length) }
        return length
    }
}
