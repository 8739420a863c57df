public import MediaCore

/// Captures what plays on this machine: the monitor of the default sink, following changes of the default.
///
/// While nothing plays the stream is corked and causes no wake-ups. Streams are named "share".
public final class SystemAudio: AudioSource {
    private let capture: PulseCapture

    /// - Parameter server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    public init(server: String? = nil) {
        capture = PulseCapture(.systemAudio, server: server)
    }

    public var summary: String { capture.summary }

    /// Whether the stream is corked and delivers no packets; for tests and statistics.
    public var isCorked: Bool { capture.isCorked }

    /// - Throws: `.noAudioServer`.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        try capture.start(handler: handler, ended: ended)
    }

    /// Must not be called from the handler.
    public func stop() { capture.stop() }
}
