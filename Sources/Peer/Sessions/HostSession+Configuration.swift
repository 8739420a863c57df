import Admission
public import ICEServers
public import MediaCore
import Publishing
import SessionDescription
import Transport

extension HostSession {
    public struct Configuration: Sendable {
        /// Where to listen, and the name or address that the link says.
        public var listenHost: String
        public var listenPort: Int
        public var linkHost: String
        public var fixedToken: String?
        public var framesPerSecond: Int
        public var maximumBitrate: Bitrate
        /// nil: chosen by what the screen does.
        public var contentHint: ContentHint?
        public var maximumViewers: Int
        /// What viewers see; nil for no name.
        public var name: String?
        /// What one viewer may have at most, if that is less than `maximumBitrate`.
        var viewerLimit: (@Sendable (ViewerDescription) -> Bitrate?)?
        /// STUN and TURN servers, for this host and for its viewers, who are told the credentials too.
        public var iceServers: [ICEServer] = []
        /// Asks the router to forward ports.
        public var usesUPnP = false
        /// Sends through TURN servers alone, so that viewers do not learn an address of this machine.
        public var usesOnlyRelays = false

        /// A numeric address to listen at holds for media too. Not one of loopback: Firefox and GStreamer never use
        /// loopback for media, so a viewer that came that way is offered this machine's other addresses as well.
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
            self.maximumViewers = maximumViewers
            self.name = name
        }
    }
}

extension HostSession.Configuration {
    func broadcastSettings(
        _ identity: Identity, _ audio: [Broadcast.AudioTrack], _ descriptors: DescriptorPlan
    ) -> Broadcast.Settings {
        Broadcast.Settings(
            identity: .init(certificateDER: identity.certificateDER, privateKeyDER: identity.privateKeyDER),
            fingerprint: identity.fingerprint, maximumBitrate: maximumBitrate,
            audio: audio,
            maximumViewers: maximumViewers,
            // In use, of a restart, and of one that is closing.
            agents: .init(
                agents: maximumViewers * 3, descriptors: descriptors.agents,
                reserve: descriptors.reserve / 2),
            localAddresses: mediaAddresses,
            includesLoopback: mediaAddresses == nil, usesUPnP: usesUPnP,
            usesOnlyRelays: usesOnlyRelays, name: name,
            viewerLimit: viewerLimit)
    }
}
