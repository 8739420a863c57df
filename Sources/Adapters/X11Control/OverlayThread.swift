internal import LinuxRuntime
internal import MediaCore

/// A thread that shows windows over others, until it is closed. Safe from any thread.
final class OverlayThread: Sendable {
    private let wakeup: Wakeup
    private let isClosed = Monitor(false)
    private let thread: NamedThread

    /// - Parameters:
    ///   - connection: is the thread's from here on, and is closed at its end.
    ///   - run: called on the thread. The wake-up tells it of changes; the flag, to return.
    /// - Throws: `.unsupported`.
    init(
        _ name: String, _ connection: OverlayConnection,
        run: @escaping @Sendable (OverlayConnection, Wakeup, _ isClosed: Monitor<Bool>) -> Void
    ) throws(SourceFailure) {
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

    func wake() { wakeup.signal() }

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
