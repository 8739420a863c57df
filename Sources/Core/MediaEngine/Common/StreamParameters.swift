public import MediaCore
public import RTPWire

/// One negotiated video stream (an SDP media section).
public struct VideoStreamParameters: Equatable, Sendable {
    /// 0: not known; a receiver then adopts the first SSRC with a matching payload type and mid.
    public var ssrc: UInt32
    public var codec: VideoCodec
    public var payloadType: UInt8
    /// nil: RTX (RFC 4588) was not negotiated; lost packets are then sent again unchanged.
    public var rtxSSRC: UInt32?
    public var rtxPayloadType: UInt8?
    public var mid: String

    public init(
        ssrc: UInt32, codec: VideoCodec = .vp8, payloadType: UInt8, rtxSSRC: UInt32? = nil,
        rtxPayloadType: UInt8? = nil, mid: String
    ) {
        self.ssrc = ssrc
        self.codec = codec
        self.payloadType = payloadType
        self.rtxSSRC = rtxSSRC
        self.rtxPayloadType = rtxPayloadType
        self.mid = mid
    }
}

/// One negotiated Opus stream (an SDP media section).
public struct AudioStreamParameters: Equatable, Sendable {
    /// 0: not known; a receiver then adopts the first SSRC with a matching payload type and mid.
    public var ssrc: UInt32
    public var payloadType: UInt8
    /// Payload type of RED packets (RFC 2198); nil if RED was not negotiated.
    public var redundantPayloadType: UInt8?
    public var mid: String

    public init(ssrc: UInt32, payloadType: UInt8, redundantPayloadType: UInt8? = nil, mid: String) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.redundantPayloadType = redundantPayloadType
        self.mid = mid
    }

    /// Whether packets with this payload type belong to the stream.
    func carries(_ type: UInt8) -> Bool { type == payloadType || type == redundantPayloadType }
}

/// The negotiated parameters of a `MediaSender`.
public struct SenderParameters: Equatable, Sendable {
    public var video: VideoStreamParameters?
    public var audio: [AudioStreamParameters]
    public var extensions: HeaderExtensionMap
    /// 1...255 bytes of UTF-8.
    public var cname: String
    /// Bytes of an RTP packet before SRTP, 200...1472. An RTX packet is two bytes longer than the original, and stays
    /// within this limit too.
    public var maximumPacketSize: Int
    public var startBitrate: Bitrate
    public var maximumBitrate: Bitrate
    public var minimumBitrate: Bitrate
    /// The peer sends transport-wide feedback.
    public var usesTransportFeedback: Bool
    /// The peer has agreed to send REMB. Used only without transport-wide feedback.
    public var usesREMB: Bool
    /// Frames are encrypted by the owner, so it has to make the skip frames of a still screen, too
    /// (`SenderEvent.skipFrameDue`).
    public var sealsFrames = false
    /// REMB limits what is sent, also beside transport-wide feedback.
    public var obeysREMB = false
    /// Packets that the packet history holds, a power of two. It limits how long a packet can be retransmitted, and the
    /// size of a frame.
    public var historyCapacity: Int
    /// Interval of sender reports while nothing is sent. Some peers take longer silence for the end of the session.
    public var idleReportInterval: MediaDuration

    public init(
        video: VideoStreamParameters?, audio: [AudioStreamParameters], extensions: HeaderExtensionMap, cname: String,
        maximumPacketSize: Int = 1_200, startBitrate: Bitrate, maximumBitrate: Bitrate,
        minimumBitrate: Bitrate = .kilobits(100), usesTransportFeedback: Bool, usesREMB: Bool = false,
        historyCapacity: Int = 4_096,
        idleReportInterval: MediaDuration = .seconds(1)
    ) {
        self.video = video
        self.audio = audio
        self.extensions = extensions
        self.cname = cname
        self.maximumPacketSize = maximumPacketSize
        self.startBitrate = startBitrate
        self.maximumBitrate = maximumBitrate
        self.minimumBitrate = minimumBitrate
        self.usesTransportFeedback = usesTransportFeedback
        self.usesREMB = usesREMB
        self.historyCapacity = historyCapacity
        self.idleReportInterval = idleReportInterval
    }
}

/// The negotiated parameters of a `MediaReceiver`.
public struct ReceiverParameters: Equatable, Sendable {
    public var video: VideoStreamParameters?
    public var audio: [AudioStreamParameters]
    public var extensions: HeaderExtensionMap
    /// 1...255 bytes of UTF-8.
    public var cname: String
    /// The sender SSRC of receiver reports and feedback.
    public var localSSRC: UInt32
    /// The peer understands transport-wide feedback.
    public var usesTransportFeedback: Bool
    /// The peer understands REMB.
    public var sendsREMB: Bool
    /// Packets of incomplete frames that the receiver holds, a power of two.
    public var packetCapacity: Int
    /// Interval of receiver reports while nothing arrives. Some peers take longer silence for the end of the session.
    public var idleReportInterval: MediaDuration

    public init(
        video: VideoStreamParameters?, audio: [AudioStreamParameters], extensions: HeaderExtensionMap, cname: String,
        localSSRC: UInt32, usesTransportFeedback: Bool, sendsREMB: Bool = false, packetCapacity: Int = 4_096,
        idleReportInterval: MediaDuration = .seconds(1)
    ) {
        self.video = video
        self.audio = audio
        self.extensions = extensions
        self.cname = cname
        self.localSSRC = localSSRC
        self.usesTransportFeedback = usesTransportFeedback
        self.sendsREMB = sendsREMB
        self.packetCapacity = packetCapacity
        self.idleReportInterval = idleReportInterval
    }
}
