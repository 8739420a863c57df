import MediaCore
import RTPWire
import Testing

let reportBlock = ReportBlock(
    ssrc: 0x0102_0304, fractionLost: 255, cumulativeLost: -5, highestSequence: 0xFFFF_FFFE, jitter: 77,
    lastSenderReport: 0xB705_2000, delaySinceLastSenderReport: 0x0005_4000)

let senderInfo = SenderInfo(
    ssrc: 0xDEAD_BEEF, ntp: NTPTimestamp(seconds: 0xB44D_B705, fraction: 0x2000_0000),
    rtpTimestamp: RTPTimestamp(0xFFFF_FFFF), packetCount: 10, octetCount: 11)

/// Parses the packets of a datagram that is expected to be well-formed.
func packets<R>(_ bytes: [UInt8], _ body: ([RTCPPacket]) throws -> R) throws -> R {
    try withBytes(bytes) { bytes throws in
        var iterator = RTCPIterator(bytes)
        var found: [RTCPPacket] = []
        while let packet = try iterator.next() { found.append(packet) }
        return try body(found)
    }
}
