import MediaCore
import RTPWire

/// Tells the sender by REMB (draft-alvestrand-rmcat-remb-03) how much it may send: with each receiver report, and at
/// once when the limit has changed by more than 5 %.
struct BitrateLimitReporter {
    private(set) var limit: Bitrate?
    private var sent: Bitrate?
    private(set) var isDue = false

    mutating func set(_ limit: Bitrate?) {
        self.limit = limit
        guard let limit else { return isDue = false }
        guard let sent else { return isDue = true }
        isDue = abs(limit.bitsPerSecond &- sent.bitsPerSecond) > sent.bitsPerSecond / 20
    }

    /// - Returns: false if there is no limit, or no room.
    mutating func write(senderSSRC: UInt32, mediaSSRC: UInt32, into writer: inout ByteWriter) -> Bool {
        isDue = false
        guard let limit, mediaSSRC != 0 else { return false }
        sent = limit
        do throws(BufferFull) {
            try REMB.write(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, bitrate: limit, into: &writer)
            return true
        } catch {
            return false
        }
    }
}
