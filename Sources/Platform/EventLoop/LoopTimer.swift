public import MediaCore

/// Calls back on the loop at an instant. Confined to its loop. Lives until `close()`.
public final class LoopTimer {
    private let loop: EventLoop
    let fire: () -> Void
    /// Its place among the armed timers; nil while it is not armed.
    var index: Int?
    /// The armed timers are the loop's coarse ones.
    var isCoarse = false
    /// It fires in this iteration of the loop.
    var isDue = false
    private var isClosed = false

    /// How late a coarse timer may be. Hundreds of them, such as those of a relay's viewers, fire together and in
    /// iterations that have another reason, instead of waking the loop one by one.
    public static let coarseDelay = MediaDuration.milliseconds(50)

    fileprivate init(loop: EventLoop, fire: @escaping () -> Void) {
        self.loop = loop
        self.fire = fire
        _ = Unmanaged.passRetained(self)
    }

    /// Fires once at `instant`, or at once if that has passed; nil disarms. Replaces the previous instant. As exact as
    /// the scheduler, whereas GLib alone rounds up to a millisecond. No system call; allocates only while more timers
    /// are armed than ever before.
    /// - Parameter isCoarse: it may fire later by ``coarseDelay``.
    public func set(_ instant: MediaInstant?, isCoarse: Bool = false) {
        assert(loop.isOnLoop)
        guard !isClosed else { return }
        loop.set(self, instant?.nanoseconds ?? .max, isCoarse: isCoarse)
    }

    /// Ends the timer; it never fires again. A second call does nothing.
    public func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        isClosed = true
        loop.set(self, .max, isCoarse: isCoarse)
        Unmanaged.passUnretained(self).release()
    }
}

extension EventLoop {
    /// Makes a timer. Call it on the loop, as all methods of the timer.
    public func makeTimer(_ fire: @escaping () -> Void) -> LoopTimer {
        preconditionOnLoop()
        return LoopTimer(loop: self, fire: fire)
    }
}
