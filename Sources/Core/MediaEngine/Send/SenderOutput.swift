public import MediaCore

/// The next output of a `MediaSender`.
public enum SenderOutput {
    /// The buffer holds an RTP packet of so many bytes: protect and send it.
    case rtp(Int)
    /// The buffer holds a packet of so many bytes with the protection of its first transmission: send it unchanged.
    /// Protecting the same sequence number again would use a nonce twice.
    case protected(Int)
    /// The buffer holds a compound RTCP packet of so many bytes: protect and send it.
    case rtcp(Int)
    case event(SenderEvent)
    /// Nothing to do until then; `.distantFuture` if only new input can change that.
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

/// Events that the owner of a `MediaSender` acts on.
public enum SenderEvent: Equatable, Sendable {
    /// The receiver needs a key frame.
    case keyframeNeeded
    /// The receiver needs a frame predicted from the long-term reference of this number alone, or else a key frame.
    case recoveryNeeded(from: UInt32)
    /// The receiver would soon ask for a key frame on a still screen: `takeSkipFrame` is to be encrypted and given to
    /// `handleSkipFrame`.
    case skipFrameDue
    /// The bandwidth estimate has changed by more than 2 %.
    case estimateChanged(Bitrate)
}

/// Why a `MediaSender` wants to be polled at its deadline.
public enum SenderWakeReason: Equatable, Sendable {
    case nothing, pacing, report, probe, tailLoss, keepAlive, ended
}

/// Counters of a `MediaSender` since it was made.
public struct SenderStatistics: Equatable, Sendable {
    /// RTP packets of all streams.
    public var packetsSent = 0
    /// Bytes of RTP packets of all streams, with headers, without SRTP tags.
    public var bytesSent = 0
    public var audioPackets = 0
    public var audioDropped = 0
    /// RED (RFC 2198) was negotiated for all audio streams, so Opus in-band FEC is not needed.
    public var isAudioRedundant = false
    public var video = Video()
    public var retransmission = Retransmission()
    public var rtcp = RTCP()
    public var path = Path()

    public init() {}

    /// The frames, and what the receiver asked for.
    public struct Video: Equatable, Sendable {
        public var frames = 0
        public var keyframes = 0
        /// Skip frames, which repeat the last frame on a still screen, for viewers that would otherwise ask for a key
        /// frame.
        public var skipFrames = 0
        /// Frames that did not fit into the packet history. Each of the base layer made a key frame necessary.
        public var framesRefused = 0
        /// Packets dropped before sending, as a key frame or recovery frame replaced them.
        public var packetsReplaced = 0
        public var keyframeRequests = 0
        /// Of those, with a long-term reference to recover from.
        public var recoveryRequests = 0
        /// Frames predicted from a long-term reference alone, in place of a key frame.
        public var recoveries = 0
        /// Acknowledgements (RPSI) of frames that are not long-term references, or without negotiation.
        public var referencesUnknown = 0
    }

    /// Video packets that were sent again, and the NACKs.
    public struct Retransmission: Equatable, Sendable {
        public var packets = 0
        public var bytes = 0
        /// Of those, unrequested duplicates, which are sent if the path loses packets and has bandwidth to spare.
        public var unrequestedDuplicates = 0
        /// Retransmissions that were sent as a bandwidth probe.
        public var probePackets = 0
        public var nacks = 0
        public var nackedPackets = 0
        /// Packets in NACKs that were not retransmitted, as they were overwritten, replaced or just sent.
        public var nacksIgnored = 0
    }

    public struct RTCP: Equatable, Sendable {
        /// Those that were sent.
        public var reports = 0
        public var feedbackPackets = 0
        /// Statuses of packets that were never sent or have left the history, and of feedback that was not used.
        public var feedbackUnknown = 0
        /// Units of work that RTCP caused; `RTCPWorkLimiter` bounds them per second.
        public var work = 0
        /// RTCP packets, or rests of datagrams, that were dropped for exceeding the work limit.
        public var overLimit = 0
        /// RTCP packets that were malformed.
        public var malformed = 0
        /// RTCP messages about streams that this sender does not have.
        public var unknownSSRC = 0
    }

    /// The present state of the path and of what waits for it.
    public struct Path: Equatable, Sendable {
        /// Loss share by the last receiver report or feedback period, 0...1.
        public var fractionLost = 0.0
        public var packetsLost = 0
        /// Interarrival jitter by the last receiver report, in seconds.
        public var jitter = 0.0
        /// Bytes of video packets and retransmissions that wait for the pacer, and how long they need.
        public var backlogBytes = 0
        public var backlog = MediaDuration.zero
        /// The standing queue delay.
        public var queueDelay = MediaDuration.zero
        public var acknowledgedRate: Bitrate?
        /// The times that sending stalled, as no feedback came for half a second.
        public var stalls = 0
    }
}
