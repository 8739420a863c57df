/// One received video frame as its encoder made it, decodable after those before it.
///
/// Borrowed: valid only during the call that hands it over.
public struct EncodedVideoFrame {
    /// The whole frame without RTP framing, at least one byte.
    public var bytes: EncodedFrameBytes
    public var codec: VideoCodec
    public var isKeyframe: Bool
    /// In pixels; nil unless it is a key frame.
    public var size: PixelSize?
    /// Temporal layer; 0 is the base.
    public var layer: UInt8
    /// In 1/90,000 s from a random start, modulo 2^32 (RFC 3550 section 5.1).
    public var rtpTimestamp: UInt32
    /// When the sender captured it, on this machine's media clock: its wall clock (RTCP sender reports) is taken to
    /// agree with this machine's. Only differences between tracks are exact. Nil before the first sender report.
    public var captured: MediaInstant?
    /// False for a frame that is decoded for those after it alone: a newer one is there already.
    public var isShown = true
    /// What the sender says beside the stream; nil if it says nothing.
    public var colorSpace: ColorSpace?

    public init(
        bytes: EncodedFrameBytes, codec: VideoCodec, isKeyframe: Bool, size: PixelSize? = nil, layer: UInt8 = 0,
        rtpTimestamp: UInt32 = 0, captured: MediaInstant? = nil, colorSpace: ColorSpace? = nil
    ) {
        self.bytes = bytes
        self.codec = codec
        self.isKeyframe = isKeyframe
        self.size = size
        self.layer = layer
        self.rtpTimestamp = rtpTimestamp
        self.captured = captured
        self.colorSpace = colorSpace
    }
}
