internal import LinuxRuntime
internal import MediaCore

extension StoppableThread {
    /// Has a connection to the X server of its own.
    /// - Parameters:
    ///   - display: nil uses `$DISPLAY`.
    ///   - run: called on the thread. The wake-up and the flag tell it to return; the connection is closed behind it.
    /// - Throws: `.noDisplay`, `.unsupported`.
    convenience init(
        _ name: String, display: String?,
        run: @escaping @Sendable (X11Connection, Wakeup, _ isClosed: Monitor<Bool>) -> Void
    ) throws(SourceFailure) {
        // SAFETY: the thread alone uses it.
        nonisolated(unsafe) let own = try X11Connection(display)
        try self.init(name) { wakeup, isClosed in
            run(own, wakeup, isClosed)
            own.close()
        }
    }
}
