import ICETransport
import Identity
public import MediaCore
import MediaEngine
import PeerConnection
import SessionDescription
public import Signaling

extension HostSession {
    public struct Configuration: Sendable {
        /// The address to listen at, and the name or address in the link.
        public var listenHost: String
        public var listenPort: Int
        /// How many ports after it are tried if it is in use.
        public var furtherPorts = 0
        /// The UDP ports for media, which a firewall lets in; nil for any free ones.
        public var mediaPorts: ClosedRange<UInt16>?
        public var linkHost: String
        public var fixedToken: String?
        /// Viewers of the local network may knock without the link. Not with a tunnel.
        public var isAnnounced = false
        public var framesPerSecond: Int
        public var maximumBitrate: Bitrate
        /// nil: detected from the screen's activity.
        public var contentHint: ContentHint?
        public var viewers: ViewerPolicy
        /// The broadcast's name that viewers see; nil for none.
        public var name: String?
        /// The relay over which viewers reach this host; nil: they reach it at `linkHost`.
        public var tunnel: PairedService?
        /// When the host sends to viewers who reach it over a relay itself.
        public var handover = Handover()
        public var ice = ICE()

        public struct Handover: Sendable {
            /// The most viewers behind the relay that the host sends to itself. With more, it publishes to the relay,
            /// which sends to all. Nil: it never does.
            public var directViewers: Int?
            /// The host publishes to the relay from the start on, and sends to no viewer itself. Their link is this
            /// host's, as without it.
            public var isRelayOnly = false
            /// What the relay gets is encrypted for the viewers, so that the relay cannot watch.
            public var isSealed = true
            /// The time for which few viewers have to be few until the host sends to all of them itself again.
            package var calmTime = HandoverPolicy.calmTime
            /// The flows by which a host with `directViewers` decides whether its line is the limit.
            var viewerFlows: @Sendable (Broadcast) -> [SharedBottleneckDetector.Flow] = { $0.viewerFlows }

            /// Whether it ever publishes to the relay.
            var publishes: Bool { isRelayOnly || directViewers != nil }
            /// The relay never gets media that it can watch.
            package var isEndToEnd: Bool { isSealed || !publishes }

            var policy: HandoverPolicy {
                HandoverPolicy(limit: directViewers ?? 0, isRelayOnly: isRelayOnly, calmTime: calmTime)
            }
        }

        public struct ICE: Sendable {
            /// STUN and TURN servers for this host and its viewers, as its user has named them. Viewers get the
            /// credentials, too.
            public var servers: [ICEServer] = []
            /// Those of the relay or service that the host is paired with, beside `servers`.
            public var grantedServers = GrantedServers.none
            /// Asks the router to forward ports.
            public var usesUPnP = false
            /// Sends through TURN servers only, so that viewers do not learn an address of this machine.
            public var usesOnlyRelays = false
        }

        /// The addresses for media; nil for all. A numeric listening address applies to media, too, unless it is
        /// loopback: Firefox and GStreamer never use loopback for media, so viewers need this machine's other
        /// addresses.
        var mediaAddresses: [String]? {
            guard let address = IPAddress(listenHost), address.isUnicast, !address.isLoopback else { return nil }
            return [listenHost]
        }

        public init(
            listenHost: String, listenPort: Int, linkHost: String, fixedToken: String?, framesPerSecond: Int,
            maximumBitrate: Bitrate, contentHint: ContentHint?, maximumViewers: Int = 32, name: String? = nil
        ) {
            self.listenHost = listenHost
            self.listenPort = listenPort
            self.linkHost = linkHost
            self.fixedToken = fixedToken
            self.framesPerSecond = framesPerSecond
            self.maximumBitrate = maximumBitrate
            self.contentHint = contentHint
            viewers = ViewerPolicy(maximum: maximumViewers)
            self.name = name
        }
    }
}

extension HostSession.Configuration {
    /// Viewers at a relay that may watch have no keys for what is said.
    var takesMessages: Bool { tunnel == nil || handover.isEndToEnd }

    /// What viewers may say.
    var messagePolicy: MessagePolicy? { takesMessages ? viewers.messages : nil }

    func broadcastSettings(
        _ identity: Identity, _ audio: [Broadcast.AudioTrack], _ descriptors: DescriptorPlan
    ) -> Broadcast.Settings {
        var settings = Broadcast.Settings(
            identity: identity, maximumBitrate: maximumBitrate, audio: audio, viewers: viewers)
        // The agents of one viewer: the one in use, one of a restart, and one that is closing.
        settings.agents = .init(
            agents: viewers.maximum * 3, descriptors: descriptors.agents, reserve: descriptors.reserve / 2)
        settings.agent = .init(
            isControlling: false, localAddresses: mediaAddresses, includesLoopback: mediaAddresses == nil,
            usesOnlyRelays: ice.usesOnlyRelays, usesUPnP: ice.usesUPnP, ports: mediaPorts)
        settings.name = name
        settings.tellsWhoLeaves = tunnel != nil && handover.publishes && handover.isSealed
        return settings
    }
}
