public import MediaCore
public import Transport

public enum BroadcastEvent: Sendable {
    /// A sound track is being recorded: what, in words.
    case sharing(String)
    case knock(ViewerDescription)
    /// Remembered: without a question, as its identity was let in for good before.
    case accepted(ViewerDescription, isRemembered: Bool)
    case refused(ViewerDescription, reason: String)
    case viewerJoined(ViewerDescription, viewers: Int)
    /// Media flows to this viewer.
    case connected(ViewerDescription, path: String)
    /// Nothing comes from this viewer; it may come back within 30 s of its last sign.
    case interrupted(ViewerDescription)
    /// It is heard again.
    case resumed(ViewerDescription, path: String, after: MediaDuration)
    case viewerLeft(ViewerDescription, reason: EndReason, viewers: Int)
    /// A track or a device failed; the session goes on.
    case warning(String)
    case ended(EndReason)
}
