import MediaCore
internal import Synchronization

/// Threads that share a loop over independent items with the thread that calls it, which waits until all are done
/// (fork and join).
///
/// Items are taken in runs, so that a thread which the kernel runs late does not hold up the others.
public final class ForkJoinPool: Sendable {
    /// The most threads at a loop; that of the caller is one of them.
    public let width: Int
    private let state: Monitor<State>
    private let threads: [NamedThread]

    private struct State {
        var job: Job?
        /// Counts the jobs.
        var number = 0
        /// Threads that work at the job, without the caller's.
        var active = 0
        var isStopping = false
    }

    /// One loop.
    // SAFETY: `body` is called by several threads at once, with another item and another worker each; the caller of
    // `run` answers for what it does. It is set to nil when all calls have returned, while the threads may still hold
    // the job.
    private final class Job: @unchecked Sendable {
        let count: Int
        let run: Int
        var body: ((_ item: Int, _ worker: Int) -> Void)?
        let next = Atomic(0)

        init(_ count: Int, run: Int, _ body: @escaping (Int, Int) -> Void) {
            self.count = count
            self.run = run
            self.body = body
        }

        func work(_ worker: Int) {
            guard let body else { return }
            while true {
                let first = next.wrappingAdd(run, ordering: .relaxed).oldValue
                guard first < count else { return }
                for item in first..<min(first + run, count) { body(item, worker) }
            }
        }
    }

    /// Starts the threads. Fewer, if the system has no more.
    /// - Parameter name: of the threads, followed by their number.
    public init(name: String, width: Int) {
        let state = Monitor(State())
        self.state = state
        threads = (1..<max(width, 1)).compactMap { worker in
            try? NamedThread.start("\(name)-\(worker)") { Self.serve(state, worker) }
        }
        self.width = threads.count + 1
    }

    deinit { state.change { $0.isStopping = true } }

    private static func serve(_ state: Monitor<State>, _ worker: Int) {
        var done = 0
        while true {
            let job = state.wait { state -> Job?? in
                if state.isStopping { return .some(nil) }
                guard let job = state.job, state.number != done else { return nil }
                done = state.number
                state.active += 1
                return job
            }
            guard let job else { return }
            job.work(worker)
            state.change { $0.active -= 1 }
        }
    }

    /// Calls `body` once for each item, on several threads at a time, and returns when all calls have returned. Not
    /// from `body`, and not from two threads at once.
    /// - Parameters:
    ///   - run: how many items a thread takes at a time.
    ///   - body: gets the item, 0..<`count`, and the number of the thread, 0..<`width`.
    public func run(_ count: Int, by run: Int = 16, _ body: (_ item: Int, _ worker: Int) -> Void) {
        guard !threads.isEmpty, count > run else {
            for item in 0..<count { body(item, 0) }
            return
        }
        withoutActuallyEscaping(body) { body in
            let job = Job(count, run: max(run, 1), body)
            state.change { state in
                state.job = job
                state.number += 1
            }
            job.work(0)
            state.with { $0.job = nil }
            state.wait { $0.active == 0 ? () : nil }
            job.body = nil
        }
    }

    /// Ends the threads, and returns when they have ended. `run` is not called any more.
    public func stop() {
        let isFirst = state.change { $0.isStopping.setOnce() }
        if isFirst { for thread in threads { thread.join() } }
    }
}
