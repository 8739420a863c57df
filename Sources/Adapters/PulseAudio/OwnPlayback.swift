import CPulse
import Glibc

/// The mark of the streams that play a broadcast which somebody watches here. They are never captured as system audio,
/// as viewers of another broadcast would hear it, and those of a mutual one themselves.
public enum OwnPlayback {
    static let property = "share.playback"
    static let value = "1"

    /// Marks every stream that this process opens later through libpulse, as SDL and ALSA do.
    ///
    /// It changes the environment, so it is called before other threads run.
    public static func markProcess() { setenv("PULSE_PROP_" + property, value, 1) }

    /// Marks a connection or a stream.
    static func mark(_ properties: OpaquePointer?) { pa_proplist_sets(properties, property, value) }
}
