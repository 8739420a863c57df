internal import CGLib
internal import LinuxRuntime
public import MediaCore
internal import Synchronization

/// A thread with its own GLib main loop. Sockets, timers and libraries that need GLib are confined to it.
///
/// Close everything that uses the loop, then `stop()` it: the thread keeps the loop alive until then.
public final class EventLoop: @unchecked Sendable {
    // SAFETY: `context`, `clock`, `timerSource` and `wakeup` are set once and refer to objects that lock themselves or
    // are touched on the thread only; `thread` is written in `init` and read by the first stop; `timers`,
    // `coarseTimers`, `dueTimers`, `readers`, `sharedObjects`, `room` and `moderation` are touched on the thread only;
    // bodies from other threads pass through `inbox`.

    /// The GMainContext, for libraries that attach sources of their own to it.
    public let context: OpaquePointer
    /// Two numbers that the timers' source shares with the loop: the present time, and the earliest deadline; in
    /// nanoseconds.
    private let clock: UnsafeMutablePointer<Int64>
    private let timerSource: UnsafeMutablePointer<cglib_timer>
    private let name: String
    private let wakeup: UnsafeMutablePointer<GSource>
    private let inbox = Mutex(Inbox())
    private nonisolated(unsafe) var thread: NamedThread?
    private nonisolated(unsafe) var timers = TimerHeap()
    /// Those that may be late; see ``LoopTimer/coarseDelay``.
    private nonisolated(unsafe) var coarseTimers = TimerHeap()
    /// Used while timers fire.
    private nonisolated(unsafe) var dueTimers: [LoopTimer] = []
    /// One object of each type that everything on the loop shares.
    private nonisolated(unsafe) var sharedObjects: [ObjectIdentifier: AnyObject] = [:]
    /// The readers by their descriptors.
    private nonisolated(unsafe) var readers: [Int32: PriorityReader] = [:]
    /// The read buffer, lent to one reader after the other.
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    private nonisolated(unsafe) var moderation = WakeupModeration()

    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        var spare: [@Sendable () -> Void] = []
        var isStopping = false
    }

    /// Starts the thread.
    /// - Parameter name: the thread's name; the kernel keeps the first 15 bytes.
    public init(name: String) {
        self.name = name
        context = g_main_context_new()
        clock = .allocate(capacity: 2)
        clock.initialize(repeating: 0, count: 2)
        timerSource = cglib_timer_new(clock, clock + 1)
        wakeup = cglib_wakeup_new()
        g_source_set_callback(
            wakeup,
            { data in
                if let data { Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().drain() }
                return 1
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
        g_source_attach(wakeup, context)
        timerSource.withMemoryRebound(to: GSource.self, capacity: 1) { source in
            g_source_set_callback(
                source,
                { data in
                    if let data { Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().fireTimers() }
                    return 1
                }, Unmanaged.passUnretained(self).toOpaque(), nil)
            g_source_attach(source, context)
        }
        thread = NamedThread(name) { [self] in run() }
    }

    /// The one object of its type that everything on the loop shares. To be called on the loop.
    public func shared<Object: AnyObject>(_ make: () -> Object) -> Object {
        let key = ObjectIdentifier(Object.self)
        if let known = sharedObjects[key] as? Object { return known }
        let made = make()
        sharedObjects[key] = made
        return made
    }

    deinit {
        g_source_destroy(wakeup)
        g_source_unref(wakeup)
        timerSource.withMemoryRebound(to: GSource.self, capacity: 1) { source in
            g_source_destroy(source)
            g_source_unref(source)
        }
        g_main_context_unref(context)
        clock.deallocate()
        room.deallocate()
    }

    /// Runs `body` on the loop, never inline, in the order of the calls. May be called from any thread. Allocates.
    /// - Returns: false if the loop has been stopped; `body` is then dropped.
    @discardableResult
    public func perform(_ body: @escaping @Sendable () -> Void) -> Bool {
        let wasEmpty: Bool? = inbox.withLock { inbox in
            if inbox.isStopping { return nil }
            inbox.work.append(body)
            return inbox.work.count == 1
        }
        guard let wasEmpty else { return false }
        if wasEmpty { g_source_set_ready_time(wakeup, 0) }
        return true
    }

    /// Whether the caller runs on the loop's thread.
    public var isOnLoop: Bool { g_main_context_is_owner(context) != 0 }

    public func preconditionOnLoop() { precondition(isOnLoop, "only on the thread of the event loop \(name)") }

    /// Runs the queued bodies and ends the thread. Returns when it has ended; blocks no thread. May be called more than
    /// once.
    public func stop() async {
        requestStop()
        await thread?.ended()
    }

    /// Does the same as `stop`, but blocks. Not for the loop or the concurrency pool. A second call does nothing.
    public func stopAndJoin() {
        precondition(!isOnLoop, "the event loop \(name) cannot wait for itself")
        if requestStop() { thread?.join() }
    }

    /// - Returns: false if the loop was stopped before.
    @discardableResult
    private func requestStop() -> Bool {
        let isFirst = inbox.withLock { $0.isStopping.setOnce() }
        if isFirst { g_source_set_ready_time(wakeup, 0) }
        return isFirst
    }

    /// While the loop wakes up often, begins an iteration no sooner than this after the last one began, so that
    /// datagrams that come one by one are read together, as with the interrupt moderation of network adapters. Call it
    /// on the loop.
    public func moderate(_ interval: MediaDuration) {
        preconditionOnLoop()
        moderation = WakeupModeration(interval: interval)
        // The kernel's default of 50 us is a large part of it.
        MonotonicClock.setTimerSlack(nanoseconds: 1_000)
    }

    // MARK: The thread

    private func run() {
        g_main_context_acquire(context)
        // Completions of GIO, such as that of closing a libnice agent, run in the thread's default context.
        g_main_context_push_thread_default(context)
        var capacity: gint = 16
        let list = g_malloc0_n(gsize(capacity), gsize(MemoryLayout<GPollFD>.stride))
        var descriptors = list?.assumingMemoryBound(to: GPollFD.self)
        while !inbox.withLock({ $0.isStopping && $0.work.isEmpty }) {
            var priority: gint = 0
            let waited = MonotonicClock.now
            clock[0] = waited.nanoseconds
            let count = cglib_wait(context, &descriptors, &capacity, &priority, clock, clock + 1)
            let began = MonotonicClock.now
            clock[0] = began.nanoseconds
            moderation.begin(began, waited: began - waited)
            if !readers.isEmpty, let descriptors {
                readFirst(descriptors, Int(count))
                drainEarly()
            }
            cglib_dispatch(context, descriptors, count, priority)
            if let pause = moderation.pause { MonotonicClock.sleep(until: pause) }
        }
        g_free(descriptors)
        g_main_context_pop_thread_default(context)
        g_main_context_release(context)
    }

    /// Runs what the readers have queued, such as to forward what they have read, without an iteration of its own.
    private func drainEarly() {
        guard inbox.withLock({ !$0.work.isEmpty }) else { return }
        // What is queued from now on sets it again, unless it is queued before `drain` takes everything.
        g_source_set_ready_time(wakeup, -1)
        drain()
    }

    private func drain() {
        var work = inbox.withLock { inbox in
            var taken: [@Sendable () -> Void] = []
            swap(&taken, &inbox.spare)
            swap(&taken, &inbox.work)
            return taken
        }
        for body in work { body() }
        work.removeAll(keepingCapacity: true)
        inbox.withLock { swap(&$0.spare, &work) }
    }

    // MARK: Timers

    /// - Parameter deadline: `.max` disarms.
    func set(_ timer: LoopTimer, _ deadline: Int64, isCoarse: Bool) {
        timer.isDue = false
        if timer.isCoarse != isCoarse {
            setInPlace(timer, .max)
            timer.isCoarse = isCoarse
        }
        setInPlace(timer, deadline)
        updateDeadline()
    }

    private func setInPlace(_ timer: LoopTimer, _ deadline: Int64) {
        if timer.isCoarse { coarseTimers.set(timer, deadline) } else { timers.set(timer, deadline) }
    }

    private func updateDeadline() {
        let (exact, coarse) = (timers.earliest, coarseTimers.earliest)
        timerSource.pointee.deadline = min(exact, coarse)
        timerSource.pointee.latest = min(exact, coarse == .max ? .max : coarse + LoopTimer.coarseDelay.nanoseconds)
    }

    /// Fires the timers that were due when the iteration began. One that sets itself to the past fires in the next
    /// iteration, after the other sources.
    private func fireTimers() {
        let now = clock[0]
        while let timer = timers.takeDue(now) ?? coarseTimers.takeDue(now) {
            timer.isDue = true
            dueTimers.append(timer)
        }
        // One that another has set, disarmed or closed meanwhile is not due any more.
        for timer in dueTimers where timer.isDue {
            timer.isDue = false
            timer.fire()
        }
        dueTimers.removeAll(keepingCapacity: true)
        updateDeadline()
    }

    // MARK: Priority readers

    func add(_ reader: PriorityReader) { readers[reader.descriptor] = reader }

    /// Does nothing if the descriptor has another reader by now.
    func remove(_ reader: PriorityReader) {
        if readers[reader.descriptor] === reader { readers[reader.descriptor] = nil }
    }

    /// Calls the readers, and hides from GLib's sources the descriptors that the readers have emptied.
    private func readFirst(_ descriptors: UnsafeMutablePointer<GPollFD>, _ count: Int) {
        for index in 0..<count where descriptors[index].revents == gushort(G_IO_IN.rawValue) {
            guard let reader = readers[descriptors[index].fd], reader.read(room) else { continue }
            descriptors[index].revents = 0
        }
    }
}
