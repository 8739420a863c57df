public import MediaCore
public import RTPWire

/// One video stream as the SDP agreed it.
public struct VideoStreamParameters: Equatable, Sendable {
    /// 0: not known; a receiver then takes the first that fits.
    public var ssrc: UInt32
    public var payloadType: UInt8
    /// nil: no retransmission stream was agreed; lost packets are then sent again as they were.
    public var rtxSSRC: UInt32?
    public var rtxPayloadType: UInt8?
    public var mid: String

    public init(ssrc: UInt32, payloadType: UInt8, rtxSSRC: UInt32? = nil, rtxPayloadType: UInt8? = nil, mid: String) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.rtxSSRC = rtxSSRC
        self.rtxPayloadType = rtxPayloadType
        self.mid = mid
    }
}

/// One Opus stream as the SDP agreed it.
public struct AudioStreamParameters: Equatable, Sendable {
    /// 0: not known; a receiver then takes the first that fits.
    public var ssrc: UInt32
    public var payloadType: UInt8
    /// Of packets that carry older ones again (RFC 2198); nil if that was not agreed.
    public var redundantPayloadType: UInt8?
    public var mid: String

    public init(ssrc: UInt32, payloadType: UInt8, redundantPayloadType: UInt8? = nil, mid: String) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.redundantPayloadType = redundantPayloadType
        self.mid = mid
    }

    /// Packets of this type belong to the stream.
    func carries(_ type: UInt8) -> Bool { type == payloadType || type == redundantPayloadType }
}

/// What a `MediaSender` has to know of its session.
public struct SenderParameters: Equatable, Sendable {
    public var video: VideoStreamParameters?
    public var audio: [AudioStreamParameters]
    public var extensions: HeaderExtensionIDs
    /// 1...255 bytes of UTF-8.
    public var cname: String
    /// Bytes of an RTP packet before SRTP, 200...1472. An RTX packet is two bytes longer than what it repeats, and stays below.
    public var maximumPacketSize: Int
    public var startBitrate: Bitrate
    public var maximumBitrate: Bitrate
    public var minimumBitrate: Bitrate
    /// The other side sends transport-wide feedback.
    public var hasTransportFeedback: Bool
    /// The other side has agreed to tell its own estimate (REMB); counts where there is no transport-wide feedback.
    public var hasBitrateEstimate: Bool
    /// Packets that the history holds, a power of two: what can be sent again, and what the largest frame may take.
    public var historyCapacity: Int
    /// Between sender reports while nothing is sent; the other side may take silence for the end of the call.
    public var restingReportInterval: MediaDuration

    public init(
        video: VideoStreamParameters?, audio: [AudioStreamParameters], extensions: HeaderExtensionIDs, cname: String,
        maximumPacketSize: Int = 1_200, startBitrate: Bitrate, maximumBitrate: Bitrate,
        minimumBitrate: Bitrate = .kilobits(100), hasTransportFeedback: Bool, hasBitrateEstimate: Bool = false,
        historyCapacity: Int = 4_096,
        restingReportInterval: MediaDuration = .seconds(1)
    ) {
        self.video = video
        self.audio = audio
        self.extensions = extensions
        self.cname = cname
        self.maximumPacketSize = maximumPacketSize
        self.startBitrate = startBitrate
        self.maximumBitrate = maximumBitrate
        self.minimumBitrate = minimumBitrate
        self.hasTransportFeedback = hasTransportFeedback
        self.hasBitrateEstimate = hasBitrateEstimate
        self.historyCapacity = historyCapacity
        self.restingReportInterval = restingReportInterval
    }
}

/// What a `MediaReceiver` has to know of its session.
public struct ReceiverParameters: Equatable, Sendable {
    public var video: VideoStreamParameters?
    public var audio: [AudioStreamParameters]
    public var extensions: HeaderExtensionIDs
    /// 1...255 bytes of UTF-8.
    public var cname: String
    /// Whose reports and feedback these are.
    public var localSSRC: UInt32
    /// The other side understands transport-wide feedback.
    public var hasTransportFeedback: Bool
    /// Packets of frames that are not complete, a power of two.
    public var packetCapacity: Int
    /// Between receiver reports while nothing arrives; the other side may take silence for the end of the call.
    public var restingReportInterval: MediaDuration

    public init(
        video: VideoStreamParameters?, audio: [AudioStreamParameters], extensions: HeaderExtensionIDs, cname: String,
        localSSRC: UInt32, hasTransportFeedback: Bool, packetCapacity: Int = 4_096,
        restingReportInterval: MediaDuration = .seconds(1)
    ) {
        self.video = video
        self.audio = audio
        self.extensions = extensions
        self.cname = cname
        self.localSSRC = localSSRC
        self.hasTransportFeedback = hasTransportFeedback
        self.packetCapacity = packetCapacity
        self.restingReportInterval = restingReportInterval
    }
}
