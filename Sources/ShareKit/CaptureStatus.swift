/// Whether the screen of the user's session is broadcast: the counterpart of `UIScreen.isCaptured`.
///
/// An app can hide content, or stop its sound, while others see the screen. The status comes from the session bus
/// (`io.sharekit.Broadcast1`), and from the lock and the control socket of `share host`, which other programs cannot
/// take the place of. In-app captures of ShareKit, which show nothing but their own app, do not count, and neither do
/// screens on a second display of the user's own.
public final class CaptureStatus: Sendable {
    /// What is known.
    public enum State: Sendable, Equatable {
        /// A program captures the screen for a broadcast. A host that does not answer counts as one that does.
        case captured
        /// Nobody broadcasts the screen, or the broadcast is paused.
        case notCaptured
        /// Another program has the broadcast's name on the bus, and no lock tells more.
        case unknown
    }

    /// The status of this process's session.
    public static let shared = CaptureStatus(.shared)

    private let monitor: SystemBroadcastMonitor

    init(_ monitor: SystemBroadcastMonitor) { self.monitor = monitor }

    /// The status now.
    ///
    /// The first call may block until the bus has answered, for a second at most. Safe from any thread.
    public var state: State { State(monitor.state) }

    /// Whether the screen is captured now, or may be: true if that is unknown, false while the broadcast is paused.
    ///
    /// Blocks as `state` does.
    public var isCaptured: Bool { state != .notCaptured }

    /// `isCaptured` now, and each change of it. Of a reader that is slow, the oldest of more than 16 changes are
    /// dropped.
    public var changes: AsyncStream<Bool> { monitor.values { State($0) != .notCaptured } }

    /// The name of the viewer that controls the pointer and the keyboard of the user's screen, as it gave it; not
    /// verified. Nil: none does, or the session bus does not tell.
    ///
    /// Blocks as `state` does.
    public var controller: String? { Self.controller(monitor.state) }

    /// `controller` now, and each change of it, as `changes`.
    public var controllers: AsyncStream<String?> { monitor.values { Self.controller($0) } }

    private static func controller(_ state: SystemBroadcastMonitor.State) -> String? {
        state.controller.isEmpty ? nil : state.controller
    }
}

extension CaptureStatus.State {
    fileprivate init(_ state: SystemBroadcastMonitor.State) {
        self = !state.isKnown ? .unknown : state.isCaptured ? .captured : .notCaptured
    }
}
