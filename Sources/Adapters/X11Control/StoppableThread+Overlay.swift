internal import LinuxRuntime
internal import MediaCore

extension StoppableThread {
    /// Shows windows over others.
    /// - Parameters:
    ///   - connection: is the thread's from here on, and is closed at its end.
    ///   - run: called on the thread. The wake-up tells it of changes; the flag, to return.
    /// - Throws: `.unsupported`.
    convenience init(
        _ name: String, _ connection: OverlayConnection,
        run: @escaping @Sendable (OverlayConnection, Wakeup, _ isClosed: Monitor<Bool>) -> Void
    ) throws(SourceFailure) {
        // SAFETY: the thread alone uses it from here on.
        nonisolated(unsafe) let own = connection
        try self.init(name) { wakeup, isClosed in
            run(own, wakeup, isClosed)
            own.close()
        }
    }
}
