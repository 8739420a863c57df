internal import LinuxRuntime
internal import MediaCore

/// A thread with a connection to the X server of its own, which runs until it is closed. Safe from any thread.
final class X11EventThread: Sendable {
    private let wakeup: Wakeup
    private let isClosed = Monitor(false)
    private let thread: NamedThread

    /// - Parameters:
    ///   - display: nil uses `$DISPLAY`.
    ///   - run: called on the thread. The wake-up and the flag tell it to return; the connection is closed behind it.
    /// - Throws: `.noDisplay`, `.unsupported`.
    init(
        _ name: String, display: String?,
        run: @escaping @Sendable (X11Connection, Wakeup, _ isClosed: Monitor<Bool>) -> Void
    ) throws(SourceFailure) {
        let connection = try X11Connection(display)
        let wakeup = try Wakeup.forSource()
        self.wakeup = wakeup
        // SAFETY: the thread alone uses it from here on.
        nonisolated(unsafe) let own = connection
        do throws(NamedThread.Failure) {
            thread = try NamedThread.start(name) { [isClosed] in
                run(own, wakeup, isClosed)
                own.close()
            }
        } catch {
            connection.close()
            throw SourceFailure(.unsupported, "no thread is left (error \(error.code))", remedy: "Raise ulimit -u.")
        }
    }

    /// Ends the thread. May be called twice.
    func close() {
        let isFirst = isClosed.change { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        wakeup.signal()
        thread.join()
    }
}
