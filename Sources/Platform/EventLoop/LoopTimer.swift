internal import CGLib
public import MediaCore

/// Calls back on the loop at an instant. Confined to its loop. Lives until `close()`.
public final class LoopTimer {
    private let loop: EventLoop
    private let fire: () -> Void
    private var source: UnsafeMutablePointer<cglib_timer>?

    fileprivate init(loop: EventLoop, fire: @escaping () -> Void) {
        self.loop = loop
        self.fire = fire
        guard let source = cglib_timer_new(loop.clock, loop.clock + 1) else { return }
        self.source = source
        source.withMemoryRebound(to: GSource.self, capacity: 1) { source in
            g_source_set_callback(
                source,
                { data in
                    if let data { Unmanaged<LoopTimer>.fromOpaque(data).takeUnretainedValue().fire() }
                    return 1
                }, Unmanaged.passRetained(self).toOpaque(),
                { data in
                    if let data { Unmanaged<LoopTimer>.fromOpaque(data).release() }
                })
            g_source_attach(source, loop.context)
        }
    }

    /// Fires once at `instant`, or at once if that has passed; nil disarms. Replaces the previous instant. As exact as
    /// the scheduler, whereas GLib alone rounds up to a millisecond. Allocates: never, no system call.
    public func set(_ instant: MediaInstant?) {
        assert(loop.isOnLoop)
        source?.pointee.deadline = instant?.nanoseconds ?? .max
    }

    /// Ends the timer; it never fires again. A second call does nothing.
    public func close() {
        loop.preconditionOnLoop()
        guard let source else { return }
        self.source = nil
        source.withMemoryRebound(to: GSource.self, capacity: 1) { source in
            g_source_destroy(source)
            g_source_unref(source)
        }
    }
}

extension EventLoop {
    /// Makes a timer. Call it on the loop, as all methods of the timer.
    public func makeTimer(_ fire: @escaping () -> Void) -> LoopTimer {
        preconditionOnLoop()
        return LoopTimer(loop: self, fire: fire)
    }
}
