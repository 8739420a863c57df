import MediaCore
import RTPWire

/// What sender reports say of one stream, and when the last one left.
struct SenderReportState {
    var packets: UInt32 = 0
    var octets: UInt32 = 0
    var lastPacket: MediaInstant?
    var hasSentSinceReport = false

    mutating func note(payloadBytes: Int, now: MediaInstant) {
        packets &+= 1
        octets &+= UInt32(truncatingIfNeeded: payloadBytes)
        lastPacket = now
        hasSentSinceReport = true
    }
}
