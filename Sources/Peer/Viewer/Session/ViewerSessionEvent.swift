public import MediaCore
public import PeerConnection
public import Signaling

public enum ViewerSessionEvent: Sendable {
    /// The knock waits for the host's answer; the words are for comparing.
    case knocking(words: String)
    case accepted
    /// The host has answered; the value is the broadcast's name.
    case named(String)
    case connected(path: String)
    /// No packets arrive from the host. The session tries to reconnect until 30 s after the last packet.
    case interrupted
    /// The interruption goes on, for this long so far; emitted about once a second.
    case waiting(MediaDuration)
    /// The host is heard again.
    case resumed(path: String, after: MediaDuration)
    /// The connection between the publisher and the relay is interrupted.
    case publisherInterrupted
    /// The publisher sends to the relay again.
    case publisherResumed
    /// The host holds the broadcast back: no frame of the screen comes until `broadcastResumed`. Another hold may
    /// follow.
    case broadcastHeld(BroadcastHold)
    case broadcastResumed
    /// An event of the host that changes nothing in the session, such as a count.
    case hostEvent(HostEvent)
    case notice(Notice)
}
