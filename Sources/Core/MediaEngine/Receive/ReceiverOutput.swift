public import MediaCore
public import RTPWire

/// What a `MediaReceiver` has to give, or wants next.
public enum ReceiverOutput {
    /// The buffer holds an RTCP packet of so many bytes: protect and send it.
    case rtcp(Int)
    /// A whole VP8 frame, decodable after those given out before; borrowed until the next call of the receiver.
    case frame(UnsafeRawBufferPointer, ReceivedFrame)
    /// An Opus packet, borrowed until the next call; nil for a lost one that has to be concealed.
    case audio(UnsafeRawBufferPointer?, ReceivedAudio)
    case event(ReceiverEvent)
    /// Nothing until then; `.distantFuture` if only new input can bring more.
    case wait(until: MediaInstant, ReceiverWakeReason)
}

public enum ReceiverEvent: Equatable, Sendable {
    /// The sender has ended its streams.
    case bye
    /// Pictures can only go on with a key frame, or one that refers to a kept frame: it has been asked for.
    case keyframeRequested
}

public enum ReceiverWakeReason: Equatable, Sendable {
    case nothing, report, feedback, nack, keyframe, audio
}

public struct ReceivedFrame: Equatable, Sendable {
    public var isKeyframe: Bool
    public var timestamp: RTPTimestamp
    /// When the sender captured it, on the sender's wall clock; nil before its first report.
    public var captured: NTPTimestamp?
    /// When its first and its last packet arrived.
    public var firstArrival: MediaInstant
    public var lastArrival: MediaInstant
    /// Temporal layer; 0 is the base.
    public var layer: UInt8
}

public struct ReceivedAudio: Equatable, Sendable {
    /// Index into the parameters' audio streams.
    public var track: Int
    public var timestamp: RTPTimestamp
    /// When the sender captured it, on the sender's wall clock; nil before its first report.
    public var captured: NTPTimestamp?
    /// The packet itself never came: conceal `frames` samples.
    public var isLost: Bool
    /// With `isLost`: the bytes are those of the packet that follows; its redundancy repairs the lost one.
    public var useFEC: Bool
    /// Samples of one channel at 48 kHz.
    public var frames: Int
}

/// What a `MediaReceiver` has counted since it was made.
public struct ReceiverStatistics: Equatable, Sendable {
    /// RTP packets of known streams, all kinds.
    public var packets = 0
    public var bytes = 0
    public var videoPackets = 0
    public var audioPackets = 0
    public var retransmissions = 0
    public var paddingPackets = 0
    /// Video packets that never came, or came only as a repetition.
    public var lost = 0
    /// Of those, repaired by retransmission.
    public var repaired = 0
    public var reordered = 0
    public var nacks = 0
    public var nackedPackets = 0
    public var keyframeRequests = 0
    public var frames = 0
    public var keyframes = 0
    /// Frames with which pictures went on although one before them was missing, without a key frame.
    public var recoveries = 0
    public var frameBytes = 0
    /// Times over 150 ms for which newer packets were there and nothing could be shown, and how long they took.
    public var freezes = 0
    public var freezeTime = MediaDuration.zero
    public var longestFreeze = MediaDuration.zero
    public var reports = 0
    public var feedbackPackets = 0
    public var audioLost = 0
    public var audioLate = 0
    /// Sound packets that a later one brought.
    public var audioRestored = 0
    /// The longest of all tracks.
    public var audioDelay = MediaDuration.zero
    public var drops = ReceiverDrops()

    public init() {}
}

/// Packets that were thrown away, by reason.
public struct ReceiverDrops: Equatable, Sendable {
    /// By `RTPMalformed.Reason`'s raw value.
    public var malformed = [Int](repeating: 0, count: RTPMalformed.Reason.allCases.count)
    public var malformedControl = 0
    public var unknownSource = 0
    public var duplicate = 0
    /// Older than what has been shown, or than a key frame that replaced it.
    public var tooOld = 0
    /// A sequence number far from the last; accepted if the next one follows it.
    public var sequenceJump = 0
    /// Longer than a slot.
    public var tooLong = 0
    /// Frames over 4 MiB, without an end, or that started in the middle.
    public var badFrames = 0
    /// Complete frames that refer to one that is missing.
    public var undecodable = 0

    /// Of all reasons.
    public var total: Int {
        malformed.reduce(0, &+) &+ malformedControl &+ unknownSource &+ duplicate &+ tooOld &+ sequenceJump &+ tooLong
            &+ badFrames &+ undecodable
    }
}
