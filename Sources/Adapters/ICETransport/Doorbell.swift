internal import CNice
internal import Synchronization

/// Wakes the loop from another thread. Rings between two answers are one ring.
///
/// It is a GSource whose ready time another thread may set: GLib then writes to the eventfd that the loop polls anyway,
/// which saves a descriptor and a read for each doorbell.
public final class Doorbell: @unchecked Sendable {
    // SAFETY: `source` is set once and GLib locks it; `rung` and `isClosed` are touched on the loop only.
    private let loop: NetworkLoop
    private let source: UnsafeMutablePointer<GSource>
    private let rung: () -> Void
    private let isRung = Atomic(false)
    private var isClosed = false

    fileprivate init(loop: NetworkLoop, rung: @escaping () -> Void) {
        self.loop = loop
        self.rung = rung
        source = cnice_bell_new()
        g_source_set_callback(
            source,
            { data in
                if let data { Unmanaged<Doorbell>.fromOpaque(data).takeUnretainedValue().answer() }
                return 1
            }, Unmanaged.passRetained(self).toOpaque(),
            { data in
                if let data { Unmanaged<Doorbell>.fromOpaque(data).release() }
            })
        g_source_attach(source, loop.context)
    }

    deinit { g_source_unref(source) }

    /// Makes the loop call `rung` soon. From any thread, also after `close()`, when it does nothing.
    /// What the caller wrote before is visible to `rung`. Allocates: never; one system call unless rung already.
    public func ring() {
        if !isRung.exchange(true, ordering: .acquiringAndReleasing) { g_source_set_ready_time(source, 0) }
    }

    private func answer() {
        _ = isRung.exchange(false, ordering: .acquiringAndReleasing)
        if !isClosed { rung() }
    }

    /// On the loop. `rung` is not called again. A second call does nothing.
    public func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        isClosed = true
        g_source_destroy(source)
    }
}

extension NetworkLoop {
    /// On the loop only; the doorbell may then be rung from any thread.
    public func makeDoorbell(_ rung: @escaping () -> Void) -> Doorbell {
        preconditionOnLoop()
        return Doorbell(loop: self, rung: rung)
    }
}
