import MediaCore
import RTPWire

/// Each function writes one packet into the buffer; nil if there is none of its kind to be sent.
extension SenderState {
    mutating func sendAudio(
        _ track: Int, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer
    ) -> SenderOutput? {
        while let packet = tracks[track].takeNext() {
            let distances =
                tracks[track].stream.redundantPayloadType == nil
                ? .none
                : redundancy.distances(
                    for: packet.bytes, tracks: tracks.count, estimate: bandwidth.estimate, isSpaced: hasReferences)
            let written = tracks[track].write(packet, distances, ids: parameters.extensions, into: buffer)
            guard let (length, layout) = written else {
                counters.audioDropped &+= 1
                continue
            }
            tracks[track].report.note(payloadBytes: length &- layout.headerLength)
            counters.audioPackets &+= 1
            return .rtp(egress.finish(length, layout, buffer, isAudio: true, now: now))
        }
        return nil
    }

    mutating func sendVideo(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        let transportSequence = egress.sent.nextSequence
        // Without RTX, sent packets are stored with their SRTP protection and sent again as they are.
        let keepsProtected = parameters.video != nil && parameters.video?.rtxSSRC == nil
        let next = video.takeNext(
            into: buffer, transportSequence: transportSequence, keepsProtected: keepsProtected, now: now)
        guard let entry = next else { return nil }
        video.tail.noteSent(
            entry.sequence, transportSequence: transportSequence, now: now, roundTrip: roundTrip,
            isLossy: redundancy.isLossy)
        if entry.duplicateCount > 0 {
            redundancy.add(entry.sequence, count: Int(entry.duplicateCount), now: now)
        }
        return .rtp(egress.finish(entry.length, entry.layout, buffer, video: entry.sequence, now: now))
    }

    mutating func sendRetransmission(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        while let sequence = retransmitter.takeNext(&video.history) {
            if let packet = retransmit(sequence, now, buffer) {
                retransmitter.noteSent(bytes: packet.length, now: now)
                // The packet was lost before, so duplicates of the retransmission follow.
                let retransmissionCount = Int(video.history.sent(sequence)?.retransmissionCount ?? 0)
                redundancy.add(
                    sequence, count: min(affordableDuplicates(1, bytes: packet.length, now), retransmissionCount),
                    now: now)
                return packet
            }
        }
        return nil
    }

    /// Sends the next unrequested duplicate that is due.
    mutating func sendDuplicate(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        while let sequence = redundancy.takeDue(now: now) {
            guard let packet = retransmit(sequence, now, buffer, isRequested: false) else { continue }
            redundancy.noteSent(bytes: packet.length, now: now)
            return packet
        }
        return nil
    }

    mutating func sendProbe(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        guard let active = probe.active, active.left > 0, now < active.until else { return nil }
        // Firefox takes the first SSRC that it sees for that of the media stream, so RTX packets come after media. RTX
        // packets without a payload stop its video for good, so a probe consists of retransmissions.
        guard parameters.video?.rtxSSRC != nil, let sequence = video.probePacket else { return nil }
        guard let packet = retransmit(sequence, now, buffer) else { return nil }
        counters.retransmission.probePackets &+= 1
        probe.noteSent(bytes: packet.length)
        return packet
    }

    mutating func sendTail(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        guard now >= video.tail.deadline, video.history.isEmpty else { return nil }
        video.tail.noteProbeSent(now: now, roundTrip: roundTrip, isLossy: redundancy.isLossy)
        return retransmitNewest(now, buffer)
    }

    mutating func retransmitNewest(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        guard let newest = video.history.newestSent else { return nil }
        let transportSequence = egress.sent.nextSequence
        guard let packet = retransmit(newest, now, buffer) else { return nil }
        if case .rtp = packet { video.tail.noteRetransmitted(transportSequence: transportSequence) }
        return packet
    }

    /// - Parameter isRequested: false for a duplicate that was not requested.
    private mutating func retransmit(
        _ sequence: Int64, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer, isRequested: Bool = true
    ) -> SenderOutput? {
        retransmitter.send(
            sequence, isRequested: isRequested, parameters, history: &video.history, egress: &egress, into: buffer,
            now: now)
    }
}
