public import MediaCore

/// A thread that sleeps in its `Wakeup`, until it is closed. Safe from any thread.
public final class StoppableThread: Sendable {
    private let wakeup: Wakeup
    private let isClosed = Monitor(false)
    private let thread: NamedThread

    /// - Parameter run: called on the thread. The wake-up tells it to look again; the flag, to return.
    /// - Throws: `.unsupported` if no thread or descriptor is left; `run` is then not called.
    public init(
        _ name: String, run: @escaping @Sendable (Wakeup, _ isClosed: Monitor<Bool>) -> Void
    ) throws(SourceFailure) {
        let wakeup = try Wakeup.forSource()
        self.wakeup = wakeup
        do throws(NamedThread.Failure) {
            thread = try NamedThread.start(name) { [isClosed] in run(wakeup, isClosed) }
        } catch {
            throw SourceFailure(.unsupported, "no thread is left (error \(error.code))", remedy: "Raise ulimit -u.")
        }
    }

    /// Has the thread look again; returns at once.
    public func wake() { wakeup.signal() }

    /// Ends the thread, and returns when it has ended. May be called twice, but not on the thread.
    public func close() {
        let isFirst = isClosed.change { $0.setOnce() }
        guard isFirst else { return }
        wakeup.signal()
        thread.join()
    }
}
