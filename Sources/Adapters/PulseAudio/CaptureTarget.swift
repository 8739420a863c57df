import MediaCore

/// What is recorded.
enum CaptureTarget: Equatable, Sendable {
    /// The monitor of the default sink.
    case systemOutput
    /// A source by name or description; nil is the default one.
    case microphone(String?)

    var isMonitor: Bool { self == .systemOutput }
}

/// A device as the server describes it.
struct PulseDevice: Equatable {
    var name: String
    var description: String
    /// The server's index of the source, or of the sink that a monitor belongs to.
    var index: UInt32
    var isMonitor: Bool
}
