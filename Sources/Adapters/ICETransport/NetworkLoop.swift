internal import CNice
internal import Glibc
public import MediaCore
internal import Synchronization

/// A thread with a GLib main loop of its own that owns everything of the network: ICE agents, DTLS, SRTP, engines, timers.
///
/// It is a `SerialExecutor`, so an actor can live on it; packets never cross as jobs. Close what lives on it, then
/// `stop()` it: the thread keeps the loop alive until then.
public final class NetworkLoop: SerialExecutor, @unchecked Sendable {
    // SAFETY: `context`, `clock` and `bell` are set once and point to things that lock themselves or are touched on the
    // thread only; `thread` is written in `init` and read once in `stop()`; what crosses is in `inbox`.
    let context: OpaquePointer
    /// Two numbers that timers share with the loop: now, and the earliest of all deadlines; in nanoseconds.
    let clock: UnsafeMutablePointer<Int64>
    private let name: String
    private let bell: UnsafeMutablePointer<GSource>
    private let inbox = Mutex(Inbox())
    private nonisolated(unsafe) var thread = pthread_t()
    /// By the descriptors of their UDP sockets. On the thread only.
    private nonisolated(unsafe) var agents: [Int32: ICEAgent] = [:]
    /// What was received last. On the thread only.
    private let datagram = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        var spare: [Work] = []
        var isStopping = false
        var hasEnded = false
        var isDrainedAfterEnd = false
    }

    /// Starts the thread.
    /// - Parameter name: of the thread; the kernel keeps the first 15 bytes.
    public init(name: String) {
        self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
        context = g_main_context_new()
        clock = .allocate(capacity: 2)
        clock.initialize(repeating: 0, count: 2)
        bell = cnice_bell_new()
        g_source_set_callback(
            bell,
            { data in
                if let data { Unmanaged<NetworkLoop>.fromOpaque(data).takeUnretainedValue().drain() }
                return 1
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
        g_source_attach(bell, context)
        thread = Self.startThread { [self] in run() }
    }

    private static func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { data in
                if let data { Unmanaged<ThreadBody>.fromOpaque(data).takeRetainedValue().run() }
                return nil
            }, Unmanaged.passRetained(ThreadBody(body)).toOpaque())
        precondition(result == 0, "no thread for the network: error \(result)")
        return thread
    }

    deinit {
        g_source_destroy(bell)
        g_source_unref(bell)
        g_main_context_unref(context)
        clock.deallocate()
        datagram.deallocate()
    }

    /// CLOCK_MONOTONIC.
    public static func now() -> MediaInstant { MediaInstant(nanoseconds: cnice_now()) }

    /// Runs `body` on the loop, never inline, in the order of the calls. From any thread. Allocates.
    /// - Returns: false if the loop was stopped before; `body` is then dropped.
    @discardableResult
    public func perform(_ body: @escaping @Sendable () -> Void) -> Bool {
        let wasEmpty: Bool? = inbox.withLock { inbox in
            if inbox.isStopping { return nil }
            inbox.work.append(.body(body))
            return inbox.work.count == 1
        }
        guard let wasEmpty else { return false }
        if wasEmpty { g_source_set_ready_time(bell, 0) }
        return true
    }

    /// Jobs that come after `stop()` run on a thread of their own, one at a time, so that no task hangs.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (wasEmpty, isMine) = inbox.withLock { inbox in
            inbox.work.append(.job(job))
            let isMine = inbox.hasEnded && !inbox.isDrainedAfterEnd
            if isMine { inbox.isDrainedAfterEnd = true }
            return (inbox.work.count == 1, isMine)
        }
        if isMine {
            // Never within this call: a task must not run before the one who hands it over has let go of it.
            startLastThread()
        } else if wasEmpty {
            g_source_set_ready_time(bell, 0)
        }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() { preconditionOnLoop() }

    public func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    /// Whether the caller runs on the loop's thread.
    public var isOnLoop: Bool { g_main_context_is_owner(context) != 0 }

    public func preconditionOnLoop() { precondition(isOnLoop, "only on the thread of the network loop \(name)") }

    /// Runs what was queued before, ends the thread and waits for it. Not on the loop. A second call does nothing.
    public func stop() {
        precondition(!isOnLoop, "the network loop \(name) cannot wait for itself")
        let isFirst = inbox.withLock { inbox in
            defer { inbox.isStopping = true }
            return !inbox.isStopping
        }
        guard isFirst else { return }
        g_source_set_ready_time(bell, 0)
        pthread_join(thread, nil)
    }

    // MARK: The thread

    private func run() {
        cnice_name_thread(name)
        g_main_context_acquire(context)
        // What GIO completes (closing an agent) comes back to the context that is the thread's default.
        g_main_context_push_thread_default(context)
        var capacity: gint = 16
        let room = g_malloc0_n(gsize(capacity), gsize(MemoryLayout<GPollFD>.stride))
        var descriptors = room?.assumingMemoryBound(to: GPollFD.self)
        while !inbox.withLock({ $0.isStopping && $0.work.isEmpty }) {
            var priority: gint = 0
            let count = cnice_wait(context, &descriptors, &capacity, &priority, clock, clock + 1)
            if !agents.isEmpty, let descriptors { receive(descriptors, Int(count)) }
            cnice_dispatch(context, descriptors, count, priority)
        }
        g_free(descriptors)
        g_main_context_pop_thread_default(context)
        g_main_context_release(context)
        let hasMore = inbox.withLock { inbox in
            inbox.hasEnded = true
            inbox.isDrainedAfterEnd = !inbox.work.isEmpty
            return inbox.isDrainedAfterEnd
        }
        if hasMore { drainAfterEnd() }
    }

    // MARK: Sockets of agents with a pair

    /// Lets `agent` read the socket before libnice does. On the loop.
    func watch(_ descriptor: Int32, for agent: ICEAgent) { agents[descriptor] = agent }

    /// Twice is fine; does nothing if the socket is another agent's by now.
    func ignore(_ descriptor: Int32, by agent: ICEAgent) {
        if agents[descriptor] === agent { agents[descriptor] = nil }
    }

    /// Reads media past libnice, and hides from it the sockets in which nothing is left for it.
    private func receive(_ descriptors: UnsafeMutablePointer<GPollFD>, _ count: Int) {
        for index in 0..<count where descriptors[index].revents == gushort(G_IO_IN.rawValue) {
            let descriptor = descriptors[index].fd
            guard let agent = agents[descriptor], agent.receive(descriptor, into: datagram) else { continue }
            descriptors[index].revents = 0
        }
    }

    private func drain() {
        var work = inbox.withLock { inbox in
            var taken: [Work] = []
            swap(&taken, &inbox.spare)
            swap(&taken, &inbox.work)
            return taken
        }
        for item in work {
            switch item {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .body(let body): body()
            }
        }
        work.removeAll(keepingCapacity: true)
        inbox.withLock { swap(&$0.spare, &work) }
    }

    private func startLastThread() {
        pthread_detach(Self.startThread { [self] in drainAfterEnd() })
    }

    private func drainAfterEnd() {
        g_main_context_acquire(context)
        defer { g_main_context_release(context) }
        repeat {
            drain()
        } while inbox.withLock { inbox in
            inbox.isDrainedAfterEnd = !inbox.work.isEmpty
            return inbox.isDrainedAfterEnd
        }
    }
}

/// Carries a closure through `pthread_create`.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
