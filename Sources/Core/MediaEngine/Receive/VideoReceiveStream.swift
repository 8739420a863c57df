import MediaCore
import RTPWire

/// The video stream of a receiver. Without negotiated video it stays empty.
struct VideoReceiveStream {
    let depacketizer: VideoDepacketizer
    /// Nil without negotiated video.
    var assembler: FrameAssembler?
    var stream: RTPStreamState
    /// 0: not known yet.
    var rtxSSRC: UInt32
    /// A packet with it has come; otherwise it is what was announced.
    var hasRTX = false
    /// A sink wants a key frame, and can do without: one PLI is sent.
    var isKeyframeWanted = false
    /// A long-term reference was returned, and is to be acknowledged.
    var isAcknowledgementDue = false
    /// When a frame was last returned.
    var lastFrame: MediaInstant?
    /// Of the last frame that was returned; nil if the sender did not say.
    var colorSpace: ColorSpace?

    init(_ parameters: ReceiverParameters) {
        let depacketizer = VideoDepacketizer(parameters.video?.codec ?? .vp8)
        self.depacketizer = depacketizer
        stream = RTPStreamState(ssrc: parameters.video?.ssrc ?? 0, clockRate: 90_000)
        rtxSSRC = parameters.video?.rtxSSRC ?? 0
        assembler = parameters.video.map { _ in
            FrameAssembler(capacity: parameters.packetCapacity, startsAreMarked: depacketizer.startsAreMarked)
        }
    }
}
