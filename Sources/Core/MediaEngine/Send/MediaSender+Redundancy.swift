import MediaCore

extension MediaSender {
    /// How many duplicates of a frame's packets to send without a request: none unless the path loses packets and less
    /// than half of the estimate is used.
    func affordableDuplicates(_ packets: Int, bytes: Int, _ now: MediaInstant) -> Int {
        guard parameters.video?.rtxSSRC != nil, packets <= 64 else { return 0 }
        var count = pathLoss.duplicateCount
        guard count > 0, bandwidth.queueDelay < .milliseconds(25) else { return 0 }
        let path = bandwidth.estimate.bitsPerSecond
        guard sentRate.rate(now: now).bitsPerSecond < path / 2 else { return 0 }
        // Frames of many packets get fewer duplicates: a loss in their middle shows at once, and with a short round
        // trip NACK repairs it soon.
        let isRepairedSoon = packets > 3 && roundTrip < .milliseconds(100)
        let room = path / (isRepairedSoon ? 10 : 5) &- duplicateRate.rate(now: now).bitsPerSecond
        while count > 0, bytes &* 8 &* count > room { count &-= 1 }
        return count
    }

    /// Sends the next unrequested duplicate that is due.
    func sendDuplicate(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        while let sequence = duplicates.takeDue(now: now) {
            guard let packet = sendAgain(sequence, now, buffer, isAsked: false) else { continue }
            counters.unrequestedDuplicates &+= 1
            duplicateRate.note(bytes: packet.length, now: now)
            return packet
        }
        return nil
    }

    /// Which earlier audio packets this one carries again in RED (RFC 2198), by the loss of the path.
    func redundancy(of packet: UnsafeRawBufferPointer, _ track: Int) -> RedundancyDistances {
        guard tracks[track].stream.redundantPayloadType != nil else { return .none }
        let wanted = pathLoss.redundancyDistances(isSpaced: hasReferences)
        // All audio may use a third of the estimate.
        let rate = packet.count &* 8 &* AudioFormat.sampleRate / OpusPacket.frames(packet) &* tracks.count
        let room = bandwidth.estimate.bitsPerSecond / 3
        return wanted.prefix(room / max(rate, 1) &- 1)
    }
}
