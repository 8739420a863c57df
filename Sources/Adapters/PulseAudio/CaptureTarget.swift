/// The source that a `PulseCapture` records.
enum CaptureTarget: Equatable, Sendable {
    /// What plays on the default sink, without the streams of viewers (`OwnPlayback`).
    case systemAudio
    /// What one application plays, on any sink. The name is one that `ServerSnapshot.Playback.matches` finds.
    case application(String)
    /// The source with this name or description; nil is the default source.
    case microphone(String?)

    var isMicrophone: Bool {
        if case .microphone = self { true } else { false }
    }

    /// A description for people before the server is asked.
    var summary: String {
        switch self {
        case .systemAudio: "what plays on this machine"
        case .application(let name): "what \(name) plays"
        case .microphone: "a microphone"
        }
    }
}
