public import MediaCore

/// Captures what one application plays, and nothing else: all its streams, mixed, on whatever sinks they play.
///
/// Streams that end, come back or move are followed. An application that plays nothing, or does not run, is silent:
/// `observe` tells so, and tells when it is there. Where the server cannot record a single stream (PulseAudio before
/// 0.9.16), nothing is delivered.
public final class ApplicationAudio: AudioSource {
    private let capture: PulseCapture

    /// - Parameters:
    ///   - application: the application's name, program, identifier or process id, or the title of one of its streams,
    ///     without regard to case.
    ///   - server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    ///   - isPersistent: whether it waits for a server that is missing or has gone (`observe`), instead of ending.
    public init(_ application: String, server: String? = nil, isPersistent: Bool = false) {
        capture = PulseCapture(.application(application), server: server, isPersistent: isPersistent)
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
