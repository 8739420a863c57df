public import MediaCore

/// Captures a microphone or any other source of the PulseAudio server.
public final class Microphone: AudioSource {
    private let capture: PulseCapture

    /// - Parameters:
    ///   - source: the name or description of the source; nil is the default source.
    ///   - server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    public init(source: String? = nil, server: String? = nil) {
        capture = PulseCapture(.microphone(source), server: server)
    }

    public var summary: String { capture.summary }

    /// - Throws: `.noAudioServer`, or `.noSuchDevice` with the names of the existing microphones.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        try capture.start(handler: handler, ended: ended)
    }

    /// Must not be called from the handler.
    public func stop() { capture.stop() }
}
