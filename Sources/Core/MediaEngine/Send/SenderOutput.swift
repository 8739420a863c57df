public import MediaCore

/// What a `MediaSender` wants next.
public enum SenderOutput {
    /// The buffer holds an RTP packet of so many bytes: protect and send it.
    case rtp(Int)
    /// The buffer holds a packet that left before, of so many bytes with the protection that it had then: send it as it is. Another
    /// protection of the same sequence number would use a nonce twice.
    case protected(Int)
    /// The buffer holds a compound RTCP packet.
    case rtcp(Int)
    case event(SenderEvent)
    /// Nothing until then; `.distantFuture` if only new input can bring more.
    case wait(until: MediaInstant, SenderWakeReason)
}

extension SenderOutput {
    /// Bytes of the packet in the buffer; 0 if there is none.
    var length: Int {
        switch self {
        case .rtp(let length), .protected(let length), .rtcp(let length): length
        case .event, .wait: 0
        }
    }
}

public enum SenderEvent: Equatable, Sendable {
    /// The other side cannot go on without a key frame.
    case keyframeNeeded
    /// The other side cannot go on without a frame that refers to the kept one of this number alone, or else a key frame.
    case recoveryNeeded(from: UInt32)
    case estimateChanged(Bitrate)
}

public enum SenderWakeReason: Equatable, Sendable {
    case nothing, pacing, report, probe, tailLoss, keepAlive, ended
}

/// What a `MediaSender` has counted since it was made.
public struct SenderStatistics: Equatable, Sendable {
    /// RTP packets of all kinds.
    public var packetsSent = 0
    /// Bytes of RTP packets of all kinds, with headers, without SRTP.
    public var bytesSent = 0
    public var retransmissions = 0
    public var retransmittedBytes = 0
    /// Of those, what nobody asked for: the path loses packets, and has room.
    public var unaskedRepetitions = 0
    /// Repetitions that nobody asked for, to see what the path carries.
    public var probePackets = 0
    /// Frames that showed the last picture once more, for a viewer that asks for a key frame where nothing comes.
    public var skipFrames = 0
    public var audioPackets = 0
    public var audioDropped = 0
    /// Sound is carried again by later packets where packets are lost, so that Opus need not do it.
    public var isSoundRedundant = false
    public var reports = 0
    public var frames = 0
    public var keyframes = 0
    /// Frames that did not fit into the history; each made a key frame necessary.
    public var framesRefused = 0
    /// Packets that a key frame replaced before they left.
    public var packetsReplaced = 0
    public var nacks = 0
    public var nackedPackets = 0
    /// Asked for, but gone, replaced or just sent.
    public var nackedInVain = 0
    public var keyframeRequests = 0
    /// Of those, with a kept frame to go on from.
    public var recoveryRequests = 0
    /// Frames that referred to a kept one alone, and replaced whatever the other side lacked.
    public var recoveries = 0
    /// Acknowledgements of pictures that are not kept, or without that having been agreed.
    public var referencesUnknown = 0
    public var feedbackPackets = 0
    /// Statuses of packets that were never sent or are long forgotten, and those of feedback that was not used.
    public var feedbackUnknown = 0
    /// Units of work that RTCP made, see `RTCPWorkLimiter`: bounded for each second.
    public var controlWork = 0
    /// RTCP packets, or the rest of a datagram, that were dropped because the peer had made too much work already.
    public var controlOverBudget = 0
    /// RTCP packets that were malformed or about streams that are not ours.
    public var malformedControl = 0
    public var foreignControl = 0
    /// Of the other side's last report or feedback window, 0...1.
    public var fractionLost = 0.0
    public var packetsLost = 0
    /// In the other side's last report, in seconds.
    public var jitter = 0.0
    /// Bytes of video and of repetitions that wait for the pacer, and how long they will take.
    public var backlogBytes = 0
    public var backlog = MediaDuration.zero
    /// How long packets wait in the path's queues.
    public var queueDelay = MediaDuration.zero
    public var acknowledgedRate: Bitrate?
    /// How often nothing came back for half a second, so that sending was stopped.
    public var stalls = 0

    public init() {}
}
