/// Whether the screen of the user's session is broadcast: the counterpart of `UIScreen.isCaptured`.
///
/// An app can hide content, or stop its sound, while others see the screen. The status comes from the session bus
/// (`io.sharekit.Broadcast1`). Without a bus the screen counts as not captured. In-app captures of ShareKit, which show
/// nothing but their own app, do not count, and neither do screens on a second display of the user's own.
public final class CaptureStatus: Sendable {
    /// The status of this process's session.
    public static let shared = CaptureStatus(.shared)

    private let monitor: SystemBroadcastMonitor

    init(_ monitor: SystemBroadcastMonitor) { self.monitor = monitor }

    /// Whether the screen is captured now; false while the broadcast is paused.
    ///
    /// The first call may block until the bus has answered, for a second at most. Safe from any thread.
    public var isCaptured: Bool { monitor.state.isCaptured }

    /// The status now, and each change of it. Without a bus: false, and nothing more. Of a reader that is slow, the oldest
    /// of more than 16 changes are dropped.
    public var changes: AsyncStream<Bool> { monitor.values { $0.isCaptured } }
}
