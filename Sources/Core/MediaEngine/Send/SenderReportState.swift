import MediaCore
import RTPWire

/// The sender report counters of one RTP stream (RFC 3550 section 6.4.1).
struct SenderReportState {
    var packets: UInt32 = 0
    var octets: UInt32 = 0
    var hasSentSinceReport = false

    mutating func note(payloadBytes: Int, packets count: Int = 1) {
        packets &+= UInt32(truncatingIfNeeded: count)
        octets &+= UInt32(truncatingIfNeeded: payloadBytes)
        hasSentSinceReport = true
    }
}
