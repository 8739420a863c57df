import Admission
import EventLoop
public import HTTP
import Host
import ICETransport
public import Identifiers
public import Identity
import LinuxRuntime
public import MediaCore
import PeerConnection
import SessionDescription
public import Signaling
import Viewer

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
        /// The UDP port for the media of all peers; nil: each has ports of its own.
        public var media: MediaPort?
        /// For HTTPS, in place of the identity's own: `linkHost` is one of its names.
        public var certificate: ServerCertificate?
        /// How broadcasts that can be watched here are listed; nil: not at all.
        public var directory: DirectorySettings?
        /// The relay over which hosts reach this service; nil: they reach it at `linkHost`.
        public var relay: ServiceLink?
        /// With which the service pairs with the relay, where one identity has one place; nil: its own.
        public var relayIdentity: Identity?
        /// The codecs that the sinks take.
        public var videoCodecs: Set<VideoCodec> = [.vp8]
        /// Gets broadcasts of other relays.
        package var finder: (any BroadcastFinder)?
        /// Called when a broadcast is listed, with each change of that, and when it is not any more.
        package var noteListing: (@Sendable (BroadcastID, DirectoryEntry?) -> Void)?
        /// Called when a publisher says that its broadcast is paused, or goes on.
        package var notePause: (@Sendable (SessionID, Bool) -> Void)?
        /// Called when a publisher wants back the viewers that it has sent here.
        package var returnViewers: (@Sendable (SessionID) -> Void)?
        /// Paired hosts may be reached over this server, beside or instead of publishing.
        package var takesTunnels = false
        /// The sinks forward packets, and can make no use of long-term references.
        package var forwardsPackets = false
        /// Those that the server serves beside the publishers, at a time.
        package var viewers = 0

        package var linkFlags: LinkFlags { certificate == nil ? [] : .webPKI }

        public init(listenHost: String, listenPort: Int, linkHost: String, service: ServiceConfiguration) {
            self.listenHost = listenHost
            self.listenPort = listenPort
            self.linkHost = linkHost
            self.service = service
        }
    }
}
