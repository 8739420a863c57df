import MediaCore

/// The source that a `PulseCapture` records.
enum CaptureTarget: Equatable, Sendable {
    /// The monitor source of the default sink.
    case systemAudio
    /// The source with this name or description; nil is the default source.
    case microphone(String?)

    var isMonitor: Bool { self == .systemAudio }
}

/// A device in the server's terms.
struct PulseDevice: Equatable {
    var name: String
    var description: String
    /// The server's index of the source, or of the monitored sink.
    var index: UInt32
    var isMonitor: Bool
}
