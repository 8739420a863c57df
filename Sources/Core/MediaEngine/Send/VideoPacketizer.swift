import MediaCore
import RTPWire

/// Where the packets of a sender's video come from.
enum VideoPacketizer {
    /// No video was negotiated.
    case none
    /// Frames are packetized here.
    case frames(VP8Packetizer)
    /// The packets of another sender are sent on.
    case forwarded(ForwardedStream)

    /// The RTP timestamp of an instant; nil if it is not known yet.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp? {
        switch self {
        case .none: nil
        case .frames(let packetizer): packetizer.timestamp(at: instant)
        case .forwarded(let stream): stream.source.timestamp(at: instant)
        }
    }
}
