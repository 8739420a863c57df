/// The content of a broadcast's track.
///
/// The raw value is the track's id in a description (`a=msid`, RFC 8830 section 2), which pages and other peers read.
public enum MediaTrackKind: String, CaseIterable, Hashable, Sendable {
    case video = "screen"
    /// The audio that applications play.
    case applicationAudio = "system"
    case microphoneAudio = "microphone"
}
