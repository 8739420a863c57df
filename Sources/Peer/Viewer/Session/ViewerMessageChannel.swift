import EventLoop
import HTTP
import LinuxRuntime
import MediaCore
import Signaling
import Synchronization

/// Sends what a viewer does with its pointer and its keys, on a WebSocket that is open as long as the host allows one
/// of both. Safe from any thread.
///
/// Nothing waits for the socket: what is done while it is closed is lost, as it would come too late.
final class ViewerMessageChannel: Sendable {
    private enum Item: Sendable {
        case pointer(PointerGesture)
        /// Nil: the viewer is still there.
        case input(ControlInput?, MediaInstant)
    }

    private struct State {
        var granted = GrantedRights(.none)
        /// Of the inputs with the present permission.
        var count = 0
        var socket: MessageSocket?
        /// What is to be sent on the socket, in its order.
        var pending: [Item] = []
        /// Wakes the task that sends it.
        var wakeup: AsyncStream<Void>.Continuation?
        var run: Task<Void, Never>?
        var heartbeat: Task<Void, Never>?
        var isClosed = false

        mutating func add(_ item: Item) -> Bool {
            guard let wakeup, pending.count < ViewerMessageChannel.capacity else { return false }
            pending.append(item)
            wakeup.yield()
            return true
        }

        /// - Parameter frame: that is shown.
        mutating func message(_ item: Item, _ frame: ReceiveStream.ShownFrame?) -> ViewerMessage? {
            switch item {
            case .pointer(let gesture): return .pointer(gesture)
            case .input(let input, let time):
                guard let grant = granted.grant else { return nil }
                count += 1
                return .input(
                    AimedInput(
                        grant: grant, count: count, time: time.nanoseconds / 1_000_000, frame: frame?.timestamp,
                        sealed: frame?.sealed, input: input))
            }
        }

        var isWanted: Bool { !isClosed && (granted.grant != nil || granted.pointer != nil) }
    }

    private let state = Mutex(State())

    /// The host releases everything after a second without an input.
    private static let heartbeatInterval = Duration.milliseconds(300)
    /// The host closes a socket that has over 120 frames a second; a fast typist has 200 changes of keys.
    private static let frameInterval = Duration.milliseconds(10)
    private static let messagesPerFrame = 32
    /// Of messages that wait.
    private static let capacity = 256
    private static let waits = (first: Duration.milliseconds(250), longest: Duration.seconds(5))

    /// The host has said what this viewer may do.
    func note(_ granted: GrantedRights, of session: ViewerSession) {
        let closed: MessageSocket? = state.withLock { state in
            guard !state.isClosed else { return nil }
            if state.granted.grant != granted.grant {
                state.count = 0
                state.heartbeat?.cancel()
                state.heartbeat = granted.grant == nil ? nil : Task { [self] in await beat() }
            }
            state.granted = granted
            if state.isWanted {
                if state.run == nil { state.run = Task { [self, weak session] in await run(session) } }
                return nil
            }
            state.run?.cancel()
            state.run = nil
            defer { state.socket = nil }
            return state.socket
        }
        closed?.close(.normal)
    }

    /// - Returns: false if the host does not allow it, or the socket is not open at the moment.
    func send(_ gesture: PointerGesture) -> Bool {
        state.withLock { $0.socket != nil && $0.granted.pointer != nil && $0.add(.pointer(gesture)) }
    }

    /// - Returns: false if the host does not allow it, or the socket is not open at the moment.
    func send(_ input: ControlInput) -> Bool {
        let now = MonotonicClock.now
        return state.withLock { $0.socket != nil && $0.granted.grant != nil && $0.add(.input(input, now)) }
    }

    /// Closes the socket, whose admission is not the present one. Another one is opened if it is wanted.
    func reopen() { state.withLock { $0.socket }?.close(.normal) }

    func close() {
        let socket = state.withLock { state in
            state.isClosed = true
            state.run?.cancel()
            state.heartbeat?.cancel()
            return state.socket
        }
        socket?.close(.normal)
    }

    private func beat() async {
        while !Task.isCancelled {
            state.withLock { _ = $0.add(.input(nil, MonotonicClock.now)) }
            try? await Task.sleep(for: Self.heartbeatInterval)
        }
    }

    /// Keeps the socket open until it is not wanted any more.
    private func run(_ session: ViewerSession?) async {
        let (wakeups, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { ($0.wakeup, $0.pending) = (wakeup, []) }
        let sending = Task { [self, weak session] in
            for await _ in wakeups {
                await sendPending(session)
                // What is done meanwhile goes into one frame.
                try? await Task.sleep(for: Self.frameInterval)
            }
        }
        defer { sending.cancel() }
        var wait = Self.waits.first
        while !Task.isCancelled, session != nil {
            if let opened = try? await session?.openMessages() {
                let socket = opened.socket
                wait = Self.waits.first
                let isWanted = state.withLock { state in
                    // Another run may have its socket there.
                    guard state.isWanted, !Task.isCancelled else { return false }
                    state.socket = socket
                    return true
                }
                // The viewer may have been admitted anew meanwhile, which closes the sockets that are known.
                guard isWanted, session?.isCurrent(opened) == true else {
                    state.withLock { if $0.socket === socket { $0.socket = nil } }
                    socket.close(.normal)
                    await opened.close()
                    if isWanted { continue }
                    return
                }
                // A refusal is no use here: the event `rights` says what has changed.
                for await _ in socket.messages {}
                state.withLock { if $0.socket === socket { $0.socket = nil } }
                await opened.close()
            }
            try? await Task.sleep(for: wait)
            wait = min(wait * 2, Self.waits.longest)
        }
    }

    private func sendPending(_ session: ViewerSession?) async {
        let frame = await session?.present?.media.ifRunning { $0.stream.shownFrame }
        let (socket, messages) = state.withLock { state in
            defer { state.pending = [] }
            return (state.socket, state.pending.compactMap { state.message($0, frame) })
        }
        guard let socket else { return }
        for start in stride(from: 0, to: messages.count, by: Self.messagesPerFrame) {
            let part = messages[start..<min(start + Self.messagesPerFrame, messages.count)]
            if let text = session?.socketText(of: Array(part)) { socket.send(text) }
        }
    }
}
