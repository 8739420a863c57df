import MediaCore
import RTPWire

extension ReceiverState {
    mutating func handleAudio(_ packet: RTPPacketView, _ track: Int, _ now: MediaInstant) throws(RTPMalformed) {
        counters.audioPackets &+= 1
        tracks[track].stream.lastPacket = now
        let isRedundant = packet.payloadType != tracks[track].parameters.payloadType
        let blocks = isRedundant ? try RedundantPayload(packet.payload) : nil
        let sequence: Int64
        switch tracks[track].stream.sequence.take(packet.sequenceNumber) {
        case .jump: return counters.drops.sequenceJump &+= 1
        case .restarted(let number):
            tracks[track].stream.statistics.restart()
            tracks[track].forwarded?.restart()
            sequence = number
        case .next(let number): sequence = number
        }
        tracks[track].stream.statistics.note(sequence, timestamp: packet.timestamp, now: now)
        guard let blocks else { return tracks[track].insert(sequence, packet.payload, packet, now) }
        tracks[track].insert(sequence, blocks, packet, now)
    }

    /// The next Opus packet that is due, or the place of a lost one; of a forwarded track the newest packet. Nil if
    /// nothing is due.
    mutating func takeAudio(_ now: MediaInstant) -> ReceiverOutput? {
        for index in tracks.indices {
            if let newest = tracks[index].forwarded?.takeNewest() {
                let info = ReceivedAudio(
                    track: index, timestamp: newest.timestamp,
                    captured: tracks[index].stream.clock.captured(newest.timestamp), isLost: false, useFEC: false,
                    samplesPerChannel: newest.samplesPerChannel)
                return .audio(newest.bytes, info)
            }
            guard let output = tracks[index].buffer?.pop(now: now) else { continue }
            let captured = tracks[index].stream.clock.captured(output.timestamp)
            let info = ReceivedAudio(
                track: index, timestamp: output.timestamp, captured: captured, isLost: output.isLost,
                useFEC: output.useFEC, samplesPerChannel: output.samplesPerChannel)
            return .audio(output.bytes, info)
        }
        return nil
    }
}

extension ReceiverState.Track {
    /// The stream has another SSRC.
    mutating func restart() {
        if buffer != nil { buffer = AudioJitterBuffer() }
        forwarded?.restart()
    }

    fileprivate mutating func insert(
        _ sequence: Int64, _ payload: UnsafeRawBufferPointer, _ packet: RTPPacketView, _ now: MediaInstant
    ) {
        buffer?.insert(sequence, payload, timestamp: packet.timestamp, now: now)
        forwarded?.insert(sequence, payload, timestamp: packet.timestamp, isMarked: packet.marker, now: now)
    }

    /// Takes in the blocks of a RED packet (RFC 2198). The jitter buffer places the redundant ones relative to the
    /// primary one; what is forwarded is sent in the order in which it is taken in.
    fileprivate mutating func insert(
        _ sequence: Int64, _ blocks: RedundantPayload, _ packet: RTPPacketView, _ now: MediaInstant
    ) {
        if buffer != nil { insertPrimary(sequence, blocks, packet, now) }
        for block in blocks where !block.isPrimary && block.payloadType == parameters.payloadType {
            let timestamp = RTPTimestamp(packet.timestamp.rawValue &- UInt32(truncatingIfNeeded: block.timestampOffset))
            buffer?.insertCopy(
                block.bytes, timestamp: timestamp, behind: sequence, by: block.timestampOffset, now: now)
            forwarded?.insertCopy(
                block.bytes, timestamp: timestamp, behind: sequence, by: block.timestampOffset, now: now)
        }
        if buffer == nil { insertPrimary(sequence, blocks, packet, now) }
    }

    private mutating func insertPrimary(
        _ sequence: Int64, _ blocks: RedundantPayload, _ packet: RTPPacketView, _ now: MediaInstant
    ) {
        for block in blocks where block.isPrimary && block.payloadType == parameters.payloadType {
            insert(sequence, block.bytes, packet, now)
        }
    }
}
