/// The protocol of a datagram on the selected pair, determined by its first two bytes. RFC 7983 section 7 (STUN, DTLS,
/// RTP), RFC 5761 section 4 (RTP or RTCP).
public enum PacketKind: Hashable, Sendable {
    case stun, dtls, rtp, rtcp, unknown

    //              +----------------+
    //              |        [0..3] -+--> STUN
    //              |      [16..19] -+--> ZRTP            (unknown)
    //  packet -->  |      [20..63] -+--> DTLS
    //              |      [64..79] -+--> TURN channel    (unknown)
    //              |    [128..191] -+--> RTP or RTCP: RTCP if the second byte is 192...223
    //              +----------------+

    /// - Parameter bytes: one datagram; datagrams shorter than the protocol's fixed header are `.unknown`.
    public init(of bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2 else {
            self = .unknown
            return
        }
        switch bytes[0] {
        case 0...3 where bytes.count >= 20: self = .stun
        case 20...63 where bytes.count >= 13: self = .dtls
        case 128...191:
            if (192...223).contains(bytes[1]) {
                self = bytes.count >= 8 ? .rtcp : .unknown
            } else {
                self = bytes.count >= RTPHeader.length ? .rtp : .unknown
            }
        default: self = .unknown
        }
    }
}
