import MediaCore
import RTPWire

/// Where the packets of a sender's video come from.
enum VideoPacketizer {
    /// No video was negotiated.
    case noVideo
    /// Frames are packetized here.
    case frames(VP8Packetizer)
    /// The packets of another sender are sent on.
    case forwarded(ForwardedStream)

    /// Appends the packets of one frame to the history; see `VP8Packetizer.append`.
    /// - Returns: nil also if no frames are packetized here.
    mutating func append(
        _ frame: UnsafeRawBufferPointer, layer: UInt8, captured: MediaInstant,
        references: FrameReferencesElement? = nil, announcesMid: Bool, to history: inout PacketHistory
    ) -> VP8Packetizer.PacketizedFrame? {
        switch consume self {
        case .frames(var packetizer):
            defer { self = .frames(packetizer) }
            return packetizer.append(
                frame, layer: layer, captured: captured, references: references, announcesMid: announcesMid,
                to: &history)
        case let other:
            self = other
            return nil
        }
    }

    /// Takes the stream out, to be put back; so it is moved and not copied.
    mutating func takeForwarded() -> ForwardedStream? {
        switch consume self {
        case .forwarded(let stream):
            self = .noVideo
            return stream
        case let other:
            self = other
            return nil
        }
    }

    /// The RTP timestamp of an instant; nil if it is not known yet.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp? {
        switch self {
        case .noVideo: nil
        case .frames(let packetizer): packetizer.timestamp(at: instant)
        case .forwarded(let stream): stream.source.timestamp(at: instant)
        }
    }
}
