import MediaCore

extension PacketHistory {
    /// Packets that a receiver lacks.
    struct Missing {
        /// When one of them was last sent; nil: there are none.
        var lastSent: MediaInstant?
        var oldest: Int64?
        /// Of those that were not sent again since `resent`.
        var bytes = 0
    }

    /// The packets that the receiver lacks of those before `end` that were first sent within `time` and can be sent again.
    /// - Parameter resent: what was sent again after it is on its way.
    func missing(
        before end: Int64, within time: MediaDuration, resent: MediaInstant, _ sent: TransportSequenceHistory,
        now: MediaInstant
    ) -> Missing {
        var sequence = min(end, nextToSend) &- 1
        var missing = Missing()
        while let entry = self.sent(sequence), now - entry.firstSent < time {
            // Feedback is lost, too, so that a packet may have arrived that was not reported.
            let isRequested = entry.retransmissionCount > 0 || entry.isQueued
            let isLost = isRequested || sent.isLost(entry.transportSequence)
            if isLost, entry.received == .nothing {
                missing.oldest = sequence
                missing.lastSent = max(missing.lastSent ?? entry.lastSent, entry.lastSent)
                if entry.retransmissionCount == 0 || entry.lastSent < resent { missing.bytes &+= entry.length }
            }
            sequence &-= 1
        }
        return missing
    }
}
