import MediaCore

extension MediaSender {
    /// How often the packets of a frame are repeated unasked: where packets are lost, and where there is room to spare.
    func affordableRepetitions(_ packets: Int, bytes: Int, _ now: MediaInstant) -> Int {
        guard parameters.video?.rtxSSRC != nil, packets <= 64 else { return 0 }
        var count = pathLoss.repetitions
        guard count > 0, controller.queueDelay < .milliseconds(25) else { return 0 }
        let path = controller.estimate.bitsPerSecond
        guard sentRate.rate(now: now).bitsPerSecond < path / 2 else { return 0 }
        // Of larger pictures less: what follows in the same picture shows a loss at once, and where the way is short it is soon
        // repaired.
        let isRepairedSoon = packets > 3 && roundTrip < .milliseconds(100)
        let room = path / (isRepairedSoon ? 10 : 5) &- repetitionRate.rate(now: now).bitsPerSecond
        while count > 0, bytes &* 8 &* count > room { count &-= 1 }
        return count
    }

    /// What is to be repeated unasked now.
    func sendRepetition(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        while let sequence = repetitions.takeDue(now: now) {
            guard let packet = sendAgain(sequence, now, buffer, isAsked: false) else { continue }
            counters.unaskedRepetitions &+= 1
            repetitionRate.note(bytes: packet.length, now: now)
            return packet
        }
        return nil
    }

    /// Which sound packets are carried again by the one at hand, counted back from it.
    func redundancy(of packet: UnsafeRawBufferPointer, _ track: Int) -> RedundancyDistances {
        guard tracks[track].stream.redundantPayloadType != nil else { return .none }
        let wanted = pathLoss.soundDistances(isSpaced: hasReferences)
        // A third of the path for all the sound, at most.
        let rate = packet.count &* 8 &* AudioFormat.sampleRate / OpusPacket.frames(packet) &* tracks.count
        let room = controller.estimate.bitsPerSecond / 3
        return wanted.prefix(room / max(rate, 1) &- 1)
    }
}
