public import MediaCore

public enum ViewerEvent: Sendable {
    /// The host has to answer; the words are for comparing.
    case knocking(words: String)
    case accepted
    /// The host has answered; what the broadcast is called.
    case named(String)
    case connected(path: String)
    /// Nothing comes from the host; the session tries to get back for 30 s from its last sign.
    case interrupted
    /// Still interrupted, about once a second: for how long.
    case waiting(MediaDuration)
    /// The host is heard again.
    case resumed(path: String, after: MediaDuration)
    case viewerCount(Int)
    case warning(String)
}
