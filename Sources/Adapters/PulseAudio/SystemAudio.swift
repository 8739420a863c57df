public import MediaCore

/// Captures what plays on this machine: what the default sink plays, following changes of the default.
///
/// What `share join` plays (`OwnPlayback`) is left out. While nothing plays the stream is corked and causes no
/// wake-ups. Streams are named "share".
public final class SystemAudio: AudioSource {
    private let capture: PulseCapture

    /// - Parameters:
    ///   - server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    ///   - isPersistent: whether it waits for a server that is missing or has gone (`observe`), instead of ending.
    public init(server: String? = nil, isPersistent: Bool = false) {
        capture = PulseCapture(.systemAudio, server: server, isPersistent: isPersistent)
    }

    public var summary: String { capture.summary }

    public func observe(_ handler: @escaping @Sendable (AudioSourceChange) -> Void) { capture.onChange = handler }

    /// - Throws: `.noAudioServer`; never if it is persistent.
    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        try capture.start(handler: handler, ended: ended)
    }

    /// Must not be called from the handler.
    public func stop() { capture.stop() }
}
