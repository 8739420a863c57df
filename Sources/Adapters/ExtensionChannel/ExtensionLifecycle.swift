public import MediaCore

/// The life of an extension's program, from its start to its end, without the program: what happens goes in, what has
/// to be done comes out.
public struct ExtensionLifecycle: Sendable {
    public struct Limits: Sendable {
        /// How long the program may take to answer `start`.
        public var start = MediaDuration.seconds(5)
        /// How long it may keep all samples, or read nothing.
        public var stall = MediaDuration.seconds(5)
        /// How long it may take to end after `finish`.
        public var finish = MediaDuration.seconds(3)
        /// How long it may take to end after SIGTERM.
        public var termination = MediaDuration.seconds(1)
        /// Private memory in bytes.
        public var memoryBudget = 50_000_000
        /// Messages a second beside releases of samples, and how many at once.
        public var messagesPerSecond = 50.0
        public var messageBurst = 100.0

        public init() {}
    }

    public enum Event: Equatable, Sendable {
        case message(ExtensionMessage)
        case malformedMessage
        /// The program has closed the connection.
        case connectionClosed
        /// The process has ended.
        case exited(ExtensionEnd)
        /// The host's user ends the broadcast.
        case finish
        /// How long the program has given no sample back although it has all of them, or has read nothing.
        case stalled(MediaDuration)
        case memory(Int)
        case time
    }

    public enum Action: Equatable, Sendable {
        case send(HostMessage)
        /// Samples may follow.
        case begin(ExtensionReadiness)
        case deliver(ExtensionMessage)
        case terminate
        case kill
        /// The process has ended, and with it everything.
        case end(ExtensionEnd)
    }

    private enum State: Equatable {
        case starting
        case running
        /// `finish` was sent.
        case finishing
        /// SIGTERM was sent.
        case terminating
        case killed
        case over
    }

    private let limits: Limits
    private let isSetup: Bool
    private var state = State.starting
    private var deadline: MediaInstant?
    /// Why the program has to end; the first reason counts.
    private var reason: ExtensionEnd?
    private var messages: TokenBucket

    /// - Parameter isSetup: a setup program, which ends by itself with `setup` or `cancelled`.
    public init(limits: Limits, isSetup: Bool, now: MediaInstant) {
        self.limits = limits
        self.isSetup = isSetup
        deadline = now + limits.start
        messages = TokenBucket(burst: limits.messageBurst, rate: limits.messagesPerSecond, now: now)
    }

    /// When `handle(.time)` has to be called next; nil for never.
    public var nextDeadline: MediaInstant? { deadline }

    public mutating func handle(_ event: Event, now: MediaInstant) -> [Action] {
        if state == .over { return [] }
        messages.refill(now)
        switch event {
        case .message(let message): return handle(message, now)
        case .malformedMessage: return stop(.malformed, now)
        // The end of the process says why. One that is about to end may close the connection first.
        case .connectionClosed: return state == .starting || state == .running ? terminate(now) : []
        case .exited(let end):
            // Without a reason, only a closed connection ends a process by a signal of the host.
            let isStopped = state == .terminating || state == .killed
            state = .over
            deadline = nil
            if isStopped, reason == nil, case .crashed = end { return [.end(.disconnected)] }
            return [.end(reason ?? end)]
        case .finish:
            guard state == .starting || state == .running else { return [] }
            reason = reason ?? .finished
            state = .finishing
            deadline = now + limits.finish
            return [.send(.finish)]
        case .stalled(let duration): return duration >= limits.stall ? stop(.unresponsive, now) : []
        case .memory(let used):
            guard used > limits.memoryBudget else { return [] }
            return stop(.overMemoryBudget(used: used, budget: limits.memoryBudget), now)
        case .time:
            guard let deadline, now >= deadline else { return [] }
            return timeOut(now)
        }
    }

    private mutating func handle(_ message: ExtensionMessage, _ now: MediaInstant) -> [Action] {
        if case .release = message { return state == .starting ? stop(.malformed, now) : [.deliver(message)] }
        guard messages.has() else { return stop(.flooding, now) }
        messages.take()
        switch (state, message) {
        case (.starting, .ready(let readiness)):
            guard readiness.version == ExtensionStart.currentVersion else {
                return stop(.otherVersion(readiness.version), now)
            }
            guard (readiness.media == .none) == isSetup else { return stop(.malformed, now) }
            state = .running
            deadline = nil
            return [.begin(readiness)]
        case (.starting, .failed(let why, let next)), (.running, .failed(let why, let next)),
            (.finishing, .failed(let why, let next)):
            return end(.reported(reason: why, nextStep: next), now)
        case (.running, .setup) where isSetup: return [.deliver(message)] + end(.finished, now)
        case (.running, .cancelled) where isSetup: return end(.cancelled, now)
        case (.running, .serviceInfo), (.running, .broadcastURL), (.running, .keyframe), (.running, .bitrate):
            return isSetup ? stop(.malformed, now) : [.deliver(message)]
        // What was under way when the host ended it.
        case (.finishing, _), (.terminating, _), (.killed, _), (.over, _): return []
        default: return stop(.malformed, now)
        }
    }

    /// The program has said why it ends: it gets the time to do so.
    private mutating func end(_ why: ExtensionEnd, _ now: MediaInstant) -> [Action] {
        if reason == nil || reason == .finished { reason = why }
        guard state != .finishing else { return [] }
        state = .finishing
        deadline = now + limits.finish
        return [.send(.finish)]
    }

    private mutating func stop(_ why: ExtensionEnd, _ now: MediaInstant) -> [Action] {
        guard state != .terminating, state != .killed else { return [] }
        reason = reason ?? why
        return terminate(now)
    }

    private mutating func terminate(_ now: MediaInstant) -> [Action] {
        state = .terminating
        deadline = now + limits.termination
        return [.terminate]
    }

    private mutating func timeOut(_ now: MediaInstant) -> [Action] {
        switch state {
        case .starting: return stop(.noAnswer, now)
        case .finishing: return terminate(now)
        case .terminating:
            state = .killed
            deadline = nil
            return [.kill]
        case .running, .killed, .over: return []
        }
    }
}
