/// One place in the sequence of received Opus packets (RFC 7587) of a track: a packet, or a lost one.
///
/// Borrowed: valid only during the call that hands it over.
public struct EncodedAudioPacket {
    public enum Payload {
        case packet(UnsafeRawBufferPointer)
        /// The packet is lost. The bytes are the next packet, whose in-band FEC restores the lost one coarsely (RFC
        /// 6716 section 2.1.7); the next packet comes again in its own place.
        case lostBefore(UnsafeRawBufferPointer)
        /// The packet is lost, and has to be concealed.
        case lost
    }

    /// Index into `EncodedMediaFormat.audio`.
    public var track: Int
    public var payload: Payload
    /// At 48 kHz.
    public var samplesPerChannel: Int
    /// In 1/48,000 s from a random start, modulo 2^32 (RFC 7587 section 4.1).
    public var rtpTimestamp: UInt32
    /// When the sender captured it, as in `EncodedVideoFrame.captured`.
    public var captured: MediaInstant?

    public init(
        track: Int, payload: Payload, samplesPerChannel: Int, rtpTimestamp: UInt32 = 0, captured: MediaInstant? = nil
    ) {
        self.track = track
        self.payload = payload
        self.samplesPerChannel = samplesPerChannel
        self.rtpTimestamp = rtpTimestamp
        self.captured = captured
    }
}
