import EventLoop
import HTTP
import LinuxRuntime
import MediaCore
import Signaling
import Synchronization

/// Sends what a viewer does with its pointer and its keys, on a WebSocket that is open as long as the host allows one of
/// both. Safe from any thread.
///
/// Nothing waits for the socket: what is done while it is closed is lost, as it would come too late.
final class ViewerMessageChannel: Sendable {
    private enum Item: Sendable {
        case pointer(PointerGesture)
        /// Nil: the viewer is still there.
        case input(ControlInput?)
    }

    private struct State {
        var granted = GrantedRights(.none)
        /// Of the inputs with the present permission.
        var count = 0
        var socket: MessageSocket?
        /// Gets what is to be sent on the socket, in its order.
        var feed: AsyncStream<Item>.Continuation?
        var run: Task<Void, Never>?
        var heartbeat: Task<Void, Never>?
        var isClosed = false

        func yield(_ item: Item) -> Bool {
            if case .enqueued? = feed?.yield(item) { return true }
            return false
        }

        var isWanted: Bool { !isClosed && (granted.grant != nil || granted.pointer != nil) }
    }

    private let state = Mutex(State())

    /// The host releases everything after a second without an input.
    private static let heartbeatInterval = Duration.milliseconds(300)
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
        state.withLock { $0.socket != nil && $0.granted.pointer != nil && $0.yield(.pointer(gesture)) }
    }

    /// - Returns: false if the host does not allow it, or the socket is not open at the moment.
    func send(_ input: ControlInput) -> Bool {
        state.withLock { $0.socket != nil && $0.granted.grant != nil && $0.yield(.input(input)) }
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
            state.withLock { _ = $0.yield(.input(nil)) }
            try? await Task.sleep(for: Self.heartbeatInterval)
        }
    }

    /// Keeps the socket open until it is not wanted any more.
    private func run(_ session: ViewerSession?) async {
        let (items, feed) = AsyncStream.makeStream(of: Item.self, bufferingPolicy: .bufferingOldest(256))
        state.withLock { $0.feed = feed }
        let sending = Task { [self, weak session] in
            for await item in items { await send(item, session) }
        }
        defer { sending.cancel() }
        var wait = Self.waits.first
        while !Task.isCancelled, session != nil {
            if let opened = try? await session?.openMessages() {
                let socket = opened.socket
                wait = Self.waits.first
                let isWanted = state.withLock { state in
                    state.socket = state.isWanted && !Task.isCancelled ? socket : nil
                    return state.socket != nil
                }
                guard isWanted else {
                    socket.close(.normal)
                    await opened.close()
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

    private func send(_ item: Item, _ session: ViewerSession?) async {
        switch item {
        case .pointer(let gesture): write(.pointer(gesture), session)
        case .input(let input):
            let time = MonotonicClock.now.nanoseconds / 1_000_000
            let frame = await session?.present?.media.ifRunning { $0.stream.shownFrame }
            let message: ViewerMessage? = state.withLock { state in
                guard let grant = state.granted.grant else { return nil }
                state.count += 1
                return .input(
                    AimedInput(
                        grant: grant, count: state.count, time: time, frame: frame?.timestamp,
                        sealed: frame?.sealed, input: input))
            }
            if let message { write(message, session) }
        }
    }

    private func write(_ message: ViewerMessage, _ session: ViewerSession?) {
        guard let socket = state.withLock({ $0.socket }), let text = session?.socketText(of: message) else { return }
        socket.send(text)
    }
}
