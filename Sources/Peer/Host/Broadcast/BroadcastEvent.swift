public import Identifiers
public import MediaCore
public import PeerConnection

public enum BroadcastEvent: Sendable {
    /// An audio track is being captured; the value names its source.
    case sharing(String)
    case knock(ViewerDescription)
    /// `isRemembered`: accepted without a question, because the identity is a known viewer.
    case accepted(ViewerDescription, isRemembered: Bool)
    case refused(ViewerDescription, reason: String)
    case viewerJoined(ViewerDescription, viewers: Int)
    /// Media flows to this viewer.
    case connected(ViewerDescription, path: String)
    /// No packets arrive from this viewer. Its session ends 30 s after its last packet.
    case interrupted(ViewerDescription)
    /// Packets arrive from the viewer again.
    case resumed(ViewerDescription, path: String, after: MediaDuration)
    case viewerLeft(ViewerDescription, reason: EndReason, viewers: Int)
    /// How many watch at the relay or the service that receives the broadcast has changed: so many watch in total.
    case viewerCount(Int)
    /// The host's user has removed this viewer, with so many sessions; `viewerLeft` comes for each.
    case viewerRemoved(ViewerDescription, sessions: Int)
    /// A viewer has written a comment; nil: the host's user has.
    case comment(BroadcastComment, ViewerDescription?)
    /// The host's user has granted a viewer a right, or taken it back.
    case rightsChanged(ViewerDescription, ViewerRights)
    /// A viewer controls the screen, or does not any more.
    case controlChanged(ControlChange)
    /// Viewers are sent to over a relay from now on, which cannot watch if the broadcast is sealed, or by this host
    /// again.
    case routeChanged(isOverRelay: Bool, relay: String, isSealed: Bool)
    /// Newcomers reach the host at this link from now on, as the relay of the former one is away, or has come back.
    /// `isFirst`: it is the link of the start.
    case linkChanged(Link, isFirst: Bool)
    /// The host's user holds something back, or does not any more.
    case holdChanged(BroadcastHoldChange)
    /// The host's user has muted a track, or ended that.
    case audioMuted(MediaTrackKind, isMuted: Bool)
    case notice(Notice)
    case ended(EndReason)

    /// Tells of an audio track; nil for the end of the video, which ends the broadcast.
    package init?(_ event: LocalEncoding.Event) {
        switch event {
        case .videoEnded: return nil
        case .audioStarted(let name, let summary), .audioChanged(let name, .resumed(let summary)):
            self = .sharing(name + ": " + summary)
        case .audioNotStarted(let name, let failure): self = .notice(.media(.audioMissing(track: name, failure)))
        case .audioEnded(let name, let failure): self = .notice(.media(.audioEnded(track: name, failure)))
        case .audioChanged(let name, .interrupted(let failure)):
            self = .notice(.media(.audioInterrupted(track: name, failure)))
        case .audioChanged(_, .notice(let sentence)): self = .notice(.media(.audioChanged(text: sentence)))
        }
    }
}
