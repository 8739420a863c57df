public import HTTP
public import MediaCore
public import Signaling

/// An occurrence in a session that goes on. Programs get the case and its values; Wording has the words.
public enum Notice: Sendable {
    /// Of a relay that a session uses.
    case relay(Relay)
    /// Of this machine, and of the servers that it was given.
    case machine(Machine)
    /// Of audio and video.
    case media(Media)
    /// Of a viewer's way to the broadcast.
    case viewing(Viewing)

    /// The peers that cannot come while a relay is not reached.
    public enum Guest: Sendable, Equatable {
        case viewer
        /// A host that wants to pair with this service.
        case host
    }

    public enum Relay: Sendable {
        /// The connection to the relay of a tunnel is interrupted: guests cannot come meanwhile.
        case interrupted(relay: String, Guest)
        case connected(relay: String)
        /// The relay has ended the tunnel of a broadcast: nobody can join any more.
        case tunnelEnded(reason: String)
        /// The relay has ended the tunnel of a service, which registers again.
        case registrationLost(reason: String)
        /// Another program with this identity has the service's tunnel.
        case registrationReplaced
        case registrationRefused(reason: String)
        /// It is tried again.
        case registrationFailed(reason: String)
        case registered
        /// The directory of a relay, or of a service, does not take the broadcast.
        case notListed(by: String, reason: String)
        /// A publication has ended, and other relays of the cluster are tried.
        case publicationLost(EndReason)
        /// - Parameter relay: its address and port.
        case publicationMoved(relay: String)
        /// This machine's line is too slow for so many viewers: they are sent to the relay.
        case lineLimit(viewers: Int)
        /// The relay does not send to the viewers of a host that has sent them there.
        case handoverFailed(relay: String, EndReason)
    }

    public enum Machine: Sendable {
        /// The limit of open files is low.
        case fewDescriptors(limit: Int)
        /// There is no address but loopback.
        case loopbackOnly
        /// The listening socket has failed: guests cannot come any more.
        case listeningFailed(Guest)
        /// A STUN or TURN server is not used.
        /// - Parameter reason: a sentence.
        case serverUnused(reason: String)
        /// A STUN or TURN server does not work.
        case serverFailed(url: String, ServerFinding)
    }

    public enum Media: Sendable {
        /// An audio track could not be started.
        case audioMissing(track: String, SourceFailure)
        case audioInterrupted(track: String, SourceFailure)
        case audioEnded(track: String, SourceFailure)
        /// - Parameter text: a sentence of the audio source.
        case audioChanged(text: String)
        /// The screen is not recorded any more.
        case recordingEnded(SourceFailure)
        /// The payloads of the sender's video have more bytes than this, and are left out.
        case tooLongPackets(limit: Int)
        case videoUnsupported(VideoCodec)
        /// - Parameter reason: one sentence or two.
        case soundMissing(reason: String)
        /// The sender does not limit the layers of the video.
        case layersUnlimited(SignalingError)
    }

    public enum Viewing: Sendable {
        /// - Parameters:
        ///   - server: its address and port.
        ///   - seconds: until it is asked again.
        case serverBusy(server: String, SignalingError, seconds: Int)
        /// Others wait for the host's answer: it is asked again until there is room.
        case knockQueueFull
        /// The session has ended, and this relay is tried.
        /// - Parameter relay: its address and port.
        case sessionLost(EndReason, relay: String)
        /// The session at another relay has ended, and the host is tried.
        case returningToHost(EndReason)
        /// A host has sent the viewer somewhere, which does not send.
        /// - Parameter relay: its address and port; nil: the host itself.
        case redirectFailed(relay: String?, EndReason)
        /// - Parameters:
        ///   - relay: its address and port; nil: the host itself.
        ///   - isEncrypted: what the relay gets is encrypted for the viewers.
        case redirected(relay: String?, isEncrypted: Bool)
        /// What a relay sends is not what the host has encrypted, and is not shown.
        case framesRefused
    }
}
