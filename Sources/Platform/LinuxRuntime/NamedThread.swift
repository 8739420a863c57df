internal import CLinux
internal import Glibc
internal import Synchronization

/// A POSIX thread with a name, which `top -H` and `perf` show. It starts when it is made. The object may be released
/// before the thread ends.
public final class NamedThread: Sendable {
    /// The system can create no further thread (EAGAIN), usually because of a limit of the user (`ulimit -u`).
    public struct Failure: Error, Equatable {
        public let code: Int32
    }

    private let handle: pthread_t
    private let end: ThreadEnd
    private let isJoined = Atomic(false)

    private init(_ handle: pthread_t, _ end: ThreadEnd) {
        self.handle = handle
        self.end = end
    }

    /// Starts a thread that the program cannot do without: traps if it cannot be created.
    /// - Parameter name: the kernel keeps the first 15 bytes.
    public convenience init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        do throws(Failure) {
            let (handle, end) = try Self.create(name, body)
            self.init(handle, end)
        } catch {
            preconditionFailure("no thread is left for \(name): error \(error.code)")
        }
    }

    /// Starts a thread.
    /// - Parameter name: the kernel keeps the first 15 bytes.
    /// - Throws: if no thread can be created; `body` is then dropped.
    public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(Failure) -> NamedThread {
        let (handle, end) = try create(name, body)
        return NamedThread(handle, end)
    }

    private static func create(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(Failure) -> (pthread_t, ThreadEnd) {
        let end = ThreadEnd()
        let start = ThreadStart(name: String(decoding: name.utf8.prefix(15), as: UTF8.self), body: body, end: end)
        let box = Unmanaged.passRetained(start)
        var handle = pthread_t()
        let code = pthread_create(
            &handle, nil,
            { raw in
                if let raw { Unmanaged<ThreadStart>.fromOpaque(raw).takeRetainedValue().run() }
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw Failure(code: code)
        }
        return (handle, end)
    }

    deinit {
        if !isJoined.load(ordering: .relaxed) { pthread_detach(handle) }
    }

    /// Blocks until the thread has ended. Call it once, and not from the thread itself or the concurrency pool, which uses
    /// `ended()`; from an event loop only if that takes some milliseconds, once.
    public func join() {
        precondition(!isJoined.exchange(true, ordering: .relaxed), "a thread is joined once")
        let code = pthread_join(handle, nil)
        precondition(code == 0, "a thread cannot be joined: error \(code)")
    }

    /// Returns when the body has returned; blocks no thread. May be called more than once.
    public func ended() async {
        await withCheckedContinuation { continuation in end.whenOver { continuation.resume() } }
    }

    /// Calls `body` after the thread's body has returned: on that thread, or at once if it has already returned.
    public func whenEnded(_ body: @escaping @Sendable () -> Void) { end.whenOver(body) }
}

/// Passes a thread's body through `pthread_create`.
// SAFETY: `body` is touched on the thread alone, after `pthread_create`.
private final class ThreadStart: @unchecked Sendable {
    private let name: String
    private var body: (@Sendable () -> Void)?
    private let end: ThreadEnd

    init(name: String, body: @escaping @Sendable () -> Void, end: ThreadEnd) {
        self.name = name
        self.body = body
        self.end = end
    }

    func run() {
        clinux_name_thread(name)
        body?()
        // Objects held by the body are released before the end is announced.
        body = nil
        end.over()
    }
}

private final class ThreadEnd: Sendable {
    private struct State {
        var isOver = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func whenOver(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.waiting.append(body) }
            return state.isOver
        }
        if isOver { body() }
    }

    func over() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOver = true
            return state.waiting
        }
        for body in waiting { body() }
    }
}
