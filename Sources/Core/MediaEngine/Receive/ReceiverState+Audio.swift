import MediaCore
import RTPWire

extension ReceiverState {
    mutating func handleAudio(_ packet: RTPPacketView, _ track: Int, _ now: MediaInstant) throws(RTPMalformed) {
        counters.audioPackets &+= 1
        tracks[track].stream.lastPacket = now
        let parameters = tracks[track].parameters
        let blocks = packet.payloadType == parameters.payloadType ? nil : try RedundantPayload(packet.payload)
        let sequence: Int64
        switch tracks[track].stream.sequence.take(packet.sequenceNumber) {
        case .jump: return counters.drops.sequenceJump &+= 1
        case .restarted(let number):
            tracks[track].stream.statistics.restart()
            sequence = number
        case .next(let number): sequence = number
        }
        tracks[track].stream.statistics.note(sequence, timestamp: packet.timestamp, now: now)
        guard let blocks else {
            return tracks[track].buffer.insert(sequence, packet.payload, timestamp: packet.timestamp, now: now)
        }
        // The primary block first, as the redundant ones are placed relative to it.
        for block in blocks where block.isPrimary && block.payloadType == parameters.payloadType {
            tracks[track].buffer.insert(sequence, block.bytes, timestamp: packet.timestamp, now: now)
        }
        for block in blocks where !block.isPrimary && block.payloadType == parameters.payloadType {
            let timestamp = RTPTimestamp(packet.timestamp.rawValue &- UInt32(truncatingIfNeeded: block.timestampOffset))
            tracks[track].buffer.insertCopy(
                block.bytes, timestamp: timestamp, behind: sequence, by: block.timestampOffset, now: now)
        }
    }

    /// The next Opus packet that is due, or the place of a lost one; nil if nothing is due.
    mutating func takeAudio(_ now: MediaInstant) -> ReceiverOutput? {
        for index in tracks.indices {
            guard let output = tracks[index].buffer.pop(now: now) else { continue }
            let captured = tracks[index].stream.clock.captured(output.timestamp)
            let info = ReceivedAudio(
                track: index, timestamp: output.timestamp, captured: captured, isLost: output.isLost,
                useFEC: output.useFEC, samplesPerChannel: output.samplesPerChannel)
            return .audio(output.bytes, info)
        }
        return nil
    }
}
