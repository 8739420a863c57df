import Admission
import Host
import Identifiers
public import MediaCore
import Service
public import Signaling
import Synchronization
import Viewer

/// The statistics of a relay. A flat record, as each value is reported by its own name.
public struct RelayStatistics: Sendable {
    /// One broadcast.
    public struct Broadcast: Sendable {
        /// For people; cleaned.
        public var name: String
        public var id: String
        public var codec: VideoCodec?
        public var viewers = 0
        /// Other relays that get it from here.
        public var relays = 0
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

    /// The other relays.
    public struct Cluster: Sendable {
        /// Those that are heard.
        public var relays = 0
        /// Broadcasts that come from them.
        public var fetched = 0
    }

    public var broadcasts: [Broadcast] = []
    /// Hosts and services with a tunnel here.
    public var tunnels = 0
    /// Nil without a cluster.
    public var cluster: Cluster?
    public var mediaPort = MediaPort()
    public var signaling = SignalingStatistics()
    /// No publisher and no viewer is taken any more.
    public var isDraining = false
}

extension RelayStatistics {
    /// - Parameters:
    ///   - received: from the publisher, or from another relay.
    ///   - relays: those that get it from here.
    mutating func add(_ broadcast: RelayedBroadcast, _ received: ViewerStatistics?, relays: Int) async {
        guard let (id, codec, traffic) = await broadcast.traffic() else { return }
        broadcasts.append(
            Broadcast(
                name: broadcast.displayName, id: id.text, codec: codec, viewers: max(0, traffic.viewers - relays),
                relays: relays, connected: traffic.connected, packetsReceived: received?.packetsReceived ?? 0,
                bytesReceived: received?.bytesReceived ?? 0, packetsLost: received?.packetsLost ?? 0,
                packetsSent: traffic.sent.packets, bytesSent: traffic.sent.bytes,
                retransmissions: traffic.sent.retransmissions, keyframeRequests: traffic.sent.keyframeRequests,
                delays: traffic.delays, badPackets: traffic.sent.badPackets))
    }
}

extension RelayStreams {
    func addStatistics(to result: inout RelayStatistics) async {
        let (table, member, upstreams) = state.withLock { ($0.table, $0.member, $0.upstreams) }
        for (session, broadcast) in table.published {
            let received = await service.statistics(of: session)
            await result.add(broadcast, received, relays: member?.copies(of: broadcast.id) ?? 0)
        }
        let fetched = table.fetched
        for stream in fetched {
            let received = await stream.upstream?.attempt.flatMap { upstreams[$0.number] }?.statistics()
            await result.add(stream.media, received, relays: member?.copies(of: stream.media.id) ?? 0)
        }
        result.cluster = member.map { .init(relays: $0.relayCount, fetched: fetched.count) }
    }
}
