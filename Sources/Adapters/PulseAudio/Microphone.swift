public import MediaCore

/// A microphone, or any other source of the sound server.
public final class Microphone: AudioSource {
    private let capture: PulseCapture

    /// - Parameters:
    ///   - source: the server's name for it or its description; nil is the default one.
    ///   - server: a PulseAudio server string; nil is the person's own (PULSE_SERVER).
    public init(source: String? = nil, server: String? = nil) {
        capture = PulseCapture(.microphone(source), server: server)
    }

    public var summary: String { capture.summary }

    /// - Throws: `.noSoundServer`, or `.noSuchDevice` with the names of those that there are.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        try capture.start(handler: handler, ended: ended)
    }

    /// Not from the handler.
    public func stop() { capture.stop() }
}
