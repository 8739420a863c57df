public import MediaCore

/// Captures a microphone or any other source of the PulseAudio server.
public final class Microphone: AudioSource {
    private let capture: PulseCapture

    /// - Parameters:
    ///   - source: the name or description of the source; nil is the default source.
    ///   - server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    ///   - isPersistent: whether it waits for a server or device that is missing or has gone (`observe`), instead of
    ///     ending.
    public init(source: String? = nil, server: String? = nil, isPersistent: Bool = false) {
        capture = PulseCapture(.microphone(source), server: server, isPersistent: isPersistent)
    }

    public var summary: String { capture.summary }

    public func observe(_ handler: @escaping @Sendable (AudioSourceChange) -> Void) { capture.onChange = handler }

    /// - Throws: `.noAudioServer`, or `.noSuchDevice` with the names of the existing microphones; never if it is
    ///   persistent.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        try capture.start(handler: handler, ended: ended)
    }

    /// Must not be called from the handler.
    public func stop() { capture.stop() }
}
