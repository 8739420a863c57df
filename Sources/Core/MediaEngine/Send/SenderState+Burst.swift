import MediaCore
import RTPWire

extension SenderState {
    /// A packet or a request for a key frame can be had by `poll` now. Otherwise the deadline of the last `poll` still
    /// holds, or is too early.
    func isPollDue(now: MediaInstant) -> Bool {
        !video.history.isEmpty || !retransmitter.isEmpty || keyframeRequests.hasEvent || now >= video.tail.deadline
            || now >= rtcp.nextReport || probe.active != nil || rtcp.hasEnded || !tracks.allSatisfy(\.isEmpty)
    }

    func addMemory(to list: inout PrefetchList) {
        video.history.addMemory(to: &list)
        egress.sent.addMemory(to: &list)
        list.add(tracks, from: 0, count: 1)
    }

    /// Writes the audio packets that wait, or several packets of the forwarded video if nothing else is to be sent
    /// before them: what `poll` would return one by one, video at a third of the cost.
    /// - Returns: how many there are.
    mutating func pollBurst(
        now: MediaInstant, into slots: PacketSlots, delays: inout DelayHistogram
    ) -> Int {
        guard !rtcp.hasEnded else { return 0 }
        let audio = pollAudio(now, into: slots)
        return audio > 0 ? audio : pollVideo(now, into: slots, &delays)
    }

    private mutating func pollAudio(_ now: MediaInstant, into slots: PacketSlots) -> Int {
        var count = 0
        for track in tracks.indices {
            while count < slots.count {
                let slot = UnsafeMutableRawBufferPointer(start: slots[count], count: slots.size)
                guard let packet = sendAudio(track, now, slot) else { break }
                slots.lengths[count] = packet.length
                count &+= 1
            }
        }
        return count
    }

    private mutating func pollVideo(
        _ now: MediaInstant, into slots: PacketSlots, _ delays: inout DelayHistogram
    ) -> Int {
        guard !video.history.isEmpty, video.history.writer != nil, parameters.video?.rtxSSRC != nil,
            retransmitter.isEmpty, probe.active == nil, !redundancy.isLossy, redundancy.deadline == .distantFuture,
            tracks.allSatisfy(\.isEmpty)
        else { return 0 }
        updateStall(now)
        guard !egress.stall.isStalled else { return 0 }
        updatePace(now)
        let first = egress.sent.nextSequence
        let burst = video.takeBurst(
            into: slots, limit: egress.pacer.room(now: now), transportSequence: first, now: now, delays: &delays)
        guard burst.count > 0 else { return 0 }
        let hasTransportSequence = parameters.extensions[.transportSequence] != nil
        egress.note(burst, slots, hasTransportSequence: hasTransportSequence, now: now)
        video.tail.noteSent(
            burst.last, transportSequence: egress.sent.nextSequence &- 1, now: now, roundTrip: roundTrip, isLossy: false
        )
        rtcp.noteBurst(now: now)
        return burst.count
    }
}
