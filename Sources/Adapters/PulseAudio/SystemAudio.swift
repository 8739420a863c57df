public import MediaCore

/// What plays on this machine: the monitor of the default output, also when that changes.
///
/// While nothing plays the stream is corked and nothing wakes up. Streams are named "share".
public final class SystemAudio: AudioSource {
    private let capture: PulseCapture

    /// - Parameter server: a PulseAudio server string; nil is the person's own (PULSE_SERVER).
    public init(server: String? = nil) {
        capture = PulseCapture(.systemOutput, server: server)
    }

    public var summary: String { capture.summary }

    /// No packets reach the stream now; for tests and statistics.
    public var isCorked: Bool { capture.isCorked }

    /// - Throws: `.noSoundServer`.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        try capture.start(handler: handler, ended: ended)
    }

    /// Not from the handler.
    public func stop() { capture.stop() }
}
