import Admission
public import MediaCore
import Publishing
import Receiving
public import Signaling

/// The statistics of a relay. A flat record, as each value is reported by its own name.
public struct RelayStatistics: Sendable {
    /// One broadcast.
    public struct Broadcast: Sendable {
        /// For people; cleaned.
        public var name: String
        public var id: String
        public var codec: VideoCodec?
        public var viewers = 0
        /// Viewers with media flowing.
        public var connected = 0
        /// From the publisher.
        public var packetsReceived = 0
        public var bytesReceived = 0
        public var packetsLost = 0
        /// To all viewers since its begin, with retransmissions.
        public var packetsSent = 0
        public var bytesSent = 0
        public var retransmissions = 0
        /// By viewers.
        public var keyframeRequests = 0
        /// How long video packets were in the relay before they were sent to a viewer.
        public var delays = DelayHistogram()
        /// Malformed, unexpected or unauthentic packets of all viewers.
        public var badPackets = 0
    }

    /// The UDP port of the media, since the start.
    public struct MediaPort: Sendable {
        public var datagrams = 0
        /// STUN requests that name no session, or are not authentic.
        public var refusedRequests = 0
        /// Datagrams from an address that belongs to no session.
        public var strangers = 0
        /// Requests of strangers for their public address that were answered.
        public var bindingResponses = 0
    }

    public var broadcasts: [Broadcast] = []
    public var mediaPort = MediaPort()
    public var signaling = SignalingStatistics()
    /// No publisher and no viewer is taken any more.
    public var isDraining = false
}

extension RelayStatistics {
    /// - Parameter received: from the publisher, or from another relay.
    mutating func add(_ broadcast: RelayedBroadcast, _ received: ViewerStatistics?) async {
        guard let (id, codec, traffic) = await broadcast.traffic() else { return }
        broadcasts.append(
            Broadcast(
                name: broadcast.displayName, id: id.text, codec: codec, viewers: traffic.viewers,
                connected: traffic.connected, packetsReceived: received?.packetsReceived ?? 0,
                bytesReceived: received?.bytesReceived ?? 0, packetsLost: received?.packetsLost ?? 0,
                packetsSent: traffic.packets, bytesSent: traffic.bytes, retransmissions: traffic.retransmissions,
                keyframeRequests: traffic.keyframeRequests, delays: traffic.delays, badPackets: traffic.badPackets))
    }
}
