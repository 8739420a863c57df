internal import CGLib
internal import Synchronization

/// Wakes a loop from another thread and calls back there. Signals between two callbacks are combined.
///
/// It is a GSource whose ready time another thread may set: GLib then writes to the eventfd that the loop polls anyway.
/// That saves a descriptor, and a read for each signal.
public final class LoopWakeup: @unchecked Sendable {
    // SAFETY: `source` is set once and GLib locks it; `woken` and `isClosed` are touched on the loop only.
    private let loop: EventLoop
    private let source: UnsafeMutablePointer<GSource>
    private let woken: () -> Void
    private let isSignalled = Atomic(false)
    private var isClosed = false

    fileprivate init(loop: EventLoop, woken: @escaping () -> Void) {
        self.loop = loop
        self.woken = woken
        source = cglib_wakeup_new()
        g_source_set_callback(
            source,
            { data in
                if let data { Unmanaged<LoopWakeup>.fromOpaque(data).takeUnretainedValue().answer() }
                return 1
            }, Unmanaged.passRetained(self).toOpaque(),
            { data in
                if let data { Unmanaged<LoopWakeup>.fromOpaque(data).release() }
            })
        g_source_attach(source, loop.context)
    }

    deinit { g_source_unref(source) }

    /// Makes the loop call `woken` soon. May be called from any thread; does nothing after `close()`. The caller's
    /// earlier writes are visible to `woken`. Allocates: never; one system call unless it is signalled already.
    public func signal() {
        if !isSignalled.exchange(true, ordering: .acquiringAndReleasing) { g_source_set_ready_time(source, 0) }
    }

    private func answer() {
        _ = isSignalled.exchange(false, ordering: .acquiringAndReleasing)
        if !isClosed { woken() }
    }

    /// Ends the wakeup: `woken` is not called again. Call it on the loop. A second call does nothing.
    public func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        isClosed = true
        g_source_destroy(source)
    }
}

extension EventLoop {
    /// Makes a wakeup. Call it on the loop; signals may then come from any thread.
    public func makeWakeup(_ woken: @escaping () -> Void) -> LoopWakeup {
        preconditionOnLoop()
        return LoopWakeup(loop: self, woken: woken)
    }
}
