package import EventLoop
public import HTTP
package import ICETransport
public import Identifiers
public import Identity
public import MediaCore
public import Signaling

extension ServiceSession {
    public struct Configuration: Sendable {
        public var listenHost: String
        public var listenPort: Int
        /// How many ports after it are tried if it is in use.
        public var furtherPorts = 0
        /// The UDP ports for media, which a firewall lets in; nil for any free ones.
        public var mediaPorts: ClosedRange<UInt16>?
        /// The name or address in the link.
        public var linkHost: String
        public var service: ServiceConfiguration
        /// For HTTPS, in place of the identity's own: `linkHost` is one of its names.
        public var certificate: ServerCertificate?
        /// The relay over which hosts reach this service; nil: they reach it at `linkHost`.
        public var relay: ServiceLink?
        /// With which the service pairs with the relay, where one identity has one place; nil: its own.
        public var relayIdentity: Identity?
        /// The codecs that the sinks take.
        public var videoCodecs: Set<VideoCodec> = [.vp8]
        /// The sinks forward packets, and can make no use of long-term references.
        package var forwardsPackets = false

        package var linkFlags: LinkFlags { certificate == nil ? [] : .webPKI }

        public init(listenHost: String, listenPort: Int, linkHost: String, service: ServiceConfiguration) {
            self.listenHost = listenHost
            self.listenPort = listenPort
            self.linkHost = linkHost
            self.service = service
        }
    }
}

/// What the server of a relay does beside the service that publishers pair with.
package struct RelayRole: Sendable {
    /// Takes all requests in the place of the session, which it passes those of a service on to.
    package var delegate: any ServiceDelegate
    /// Gets broadcasts of other relays; nil: there are none.
    package var fetcher: (any BroadcastFetcher)?
    /// How broadcasts that can be watched here are listed; nil: not at all.
    package var directory: DirectorySettings?
    /// Maximum number of concurrent viewers.
    package var viewers: Int
    /// The UDP port for the media of all peers.
    package var socket: LoopBound<ICELiteSocket>
    /// The STUN server that this port is; nil if peers cannot reach it.
    package var mediaServer: ICEServer?

    package init(
        delegate: any ServiceDelegate, fetcher: (any BroadcastFetcher)?, directory: DirectorySettings?, viewers: Int,
        socket: LoopBound<ICELiteSocket>, mediaServer: ICEServer?
    ) {
        self.delegate = delegate
        self.fetcher = fetcher
        self.directory = directory
        self.viewers = viewers
        self.socket = socket
        self.mediaServer = mediaServer
    }
}
