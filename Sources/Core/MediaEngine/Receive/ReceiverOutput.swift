public import MediaCore
public import RTPWire

/// The next output of a `MediaReceiver`.
public enum ReceiverOutput {
    /// The buffer holds an RTCP packet of so many bytes: protect and send it.
    case rtcp(Int)
    /// A complete VP8 frame, decodable after those returned before; borrowed until the next call of the receiver.
    case frame(EncodedFrameBytes, ReceivedFrame)
    /// An Opus packet, borrowed until the next call; nil for a lost one that has to be concealed.
    case audio(UnsafeRawBufferPointer?, ReceivedAudio)
    case event(ReceiverEvent)
    /// Nothing to do until then; `.distantFuture` if only new input can change that.
    case wait(until: MediaInstant, ReceiverWakeReason)
}

/// Events that the owner of a `MediaReceiver` acts on.
public enum ReceiverEvent: Equatable, Sendable {
    /// The sender has ended its streams (BYE).
    case bye
    /// Video can only go on with a key frame or a recovery frame; it has been requested.
    case keyframeRequested
}

/// Why a `MediaReceiver` wants to be polled at its deadline.
public enum ReceiverWakeReason: Equatable, Sendable {
    case nothing, report, feedback, nack, keyframe, audio
}

/// Describes a video frame of `ReceiverOutput.frame`.
public struct ReceivedFrame: Equatable, Sendable {
    public var codec: VideoCodec
    public var isKeyframe: Bool
    /// In pixels; nil unless it is a key frame.
    public var size: PixelSize?
    public var timestamp: RTPTimestamp
    /// When the sender captured it, on the sender's wall clock; nil before its first sender report.
    public var captured: NTPTimestamp?
    /// When its first and its last packet arrived.
    public var firstArrival: MediaInstant
    public var lastArrival: MediaInstant
    /// Temporal layer; 0 is the base.
    public var layer: UInt8
    /// What the sender says beside the stream; nil if it says nothing.
    public var colorSpace: ColorSpace?
}

/// Describes an audio packet of `ReceiverOutput.audio`.
public struct ReceivedAudio: Equatable, Sendable {
    /// Index into the parameters' audio streams.
    public var track: Int
    public var timestamp: RTPTimestamp
    /// When the sender captured it, on the sender's wall clock; nil before its first sender report.
    public var captured: NTPTimestamp?
    /// The packet was lost: conceal `samplesPerChannel` samples.
    public var isLost: Bool
    /// With `isLost`: the bytes are those of the next packet, whose in-band FEC restores the lost one.
    public var useFEC: Bool
    /// At 48 kHz.
    public var samplesPerChannel: Int
}

/// Counters of a `MediaReceiver` since it was made.
public struct ReceiverStatistics: Equatable, Sendable {
    /// RTP packets and bytes of known streams, without SRTP tags.
    public var packets = 0
    public var bytes = 0
    public var paddingPackets = 0
    public var reports = 0
    public var feedbackPackets = 0
    public var audioPackets = 0
    public var audioLost = 0
    public var audioLate = 0
    /// Audio packets that RED (RFC 2198) restored.
    public var audioRestored = 0
    /// The jitter buffer delay; the longest of all tracks.
    public var audioDelay = MediaDuration.zero
    public var video = Video()
    public var requests = Requests()
    public var freezes = Freezes()
    public var drops = ReceiverDrops()

    public init() {}

    public struct Video: Equatable, Sendable {
        public var packets = 0
        public var retransmissions = 0
        /// Packets that never arrived, or only as retransmissions.
        public var lost = 0
        /// Of those, repaired by retransmission.
        public var repaired = 0
        public var reordered = 0
        public var frames = 0
        public var keyframes = 0
        /// Recovery frames: decoding went on from a long-term reference, without a key frame, although a frame was
        /// missing.
        public var recoveries = 0
        public var frameBytes = 0
    }

    /// The requests to the sender.
    public struct Requests: Equatable, Sendable {
        public var nacks = 0
        public var nackedPackets = 0
        public var keyframes = 0
    }

    /// Times over 150 ms in which newer packets had arrived and no frame could be shown.
    public struct Freezes: Equatable, Sendable {
        public var count = 0
        public var time = MediaDuration.zero
        public var longest = MediaDuration.zero
    }
}

/// Dropped packets, by reason.
public struct ReceiverDrops: Equatable, Sendable {
    /// By `RTPMalformed.Reason`'s raw value.
    public var malformed = [Int](repeating: 0, count: RTPMalformed.Reason.allCases.count)
    public var malformedRTCP = 0
    public var unknownSource = 0
    public var duplicate = 0
    /// Older than the last frame returned, or than a key frame that replaced it.
    public var tooOld = 0
    /// The sequence number is far from the last one; accepted if the next one follows it.
    public var sequenceJump = 0
    /// The payload exceeds a slot (1,504 bytes), or what is forwarded (``ForwardedVideo/largestPayload``).
    public var tooLong = 0
    /// Frames over 4 MiB, without an end, or without a start.
    public var badFrames = 0

    /// Over all reasons.
    public var total: Int {
        malformed.reduce(0, &+) &+ malformedRTCP &+ unknownSource &+ duplicate &+ tooOld &+ sequenceJump &+ tooLong
            &+ badFrames
    }
}
