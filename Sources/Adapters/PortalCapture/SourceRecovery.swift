internal import Glibc
internal import LinuxRuntime
internal import MediaCore
internal import Synchronization

/// Brings a lost source back.
///
/// What was lost with PipeWire, the portal or the compositor is restored without a question, again and again. What the
/// desktop ended on purpose, as its user can, is asked for once, with the desktop's question: nothing that a user has
/// stopped is captured again without that user's consent.
struct SourceRecovery {
    struct Loss {
        /// Why the stream has failed; nil if it has not.
        var why: String?
        var isConnectionLost: Bool
        /// The desktop has ended the grant.
        var isEnded: Bool
    }

    enum Step {
        case none
        case news(String)
        case source(ReceivedStream, ScreenCastGrant)
    }

    private enum State {
        case fine
        /// Signs of one loss come over two connections; the verdict waits for all of them.
        case judging(until: MediaInstant)
        case waiting(until: MediaInstant)
        case opening(Attempt)
        case over
    }

    private static let judging = MediaDuration.milliseconds(300)
    private static let (shortestDelay, longestDelay) = (MediaDuration.milliseconds(250), MediaDuration.seconds(8))
    /// A source that lasts less is asked for more and more slowly.
    private static let soundness = MediaDuration.seconds(10)

    private let cast: any ScreenCast
    private let wakeup: Wakeup
    private let hasPipeWire: @Sendable () -> Bool
    private var state = State.fine
    private var usesRestoring = true
    private var delay = SourceRecovery.shortestDelay
    private var openedAt: MediaInstant?
    private var lastNews: String?

    init(_ cast: any ScreenCast, _ wakeup: Wakeup, _ hasPipeWire: @escaping @Sendable () -> Bool) {
        self.cast = cast
        self.wakeup = wakeup
        self.hasPipeWire = hasPipeWire
    }

    /// When `take` or `proceed` has something to do at the latest.
    var timer: MediaInstant? {
        switch state {
        case .fine, .opening, .over: nil
        case .judging(let instant), .waiting(let instant): instant
        }
    }

    /// Judges the signs of a running source.
    /// - Returns: what is lost, for the user; nil if nothing is, or the verdict is still open.
    mutating func take(_ loss: Loss) -> String? {
        guard loss.why != nil || loss.isEnded else { return nil }
        let now = MonotonicClock.now
        switch state {
        case .judging(let instant) where now >= instant: break
        case .judging: return nil
        default:
            state = .judging(until: now + Self.judging)
            return nil
        }
        lastNews = nil
        if let openedAt, now - openedAt < Self.soundness {
            wait(from: now)
        } else {
            delay = Self.shortestDelay
            state = .waiting(until: now)
        }
        usesRestoring = !loss.isEnded || loss.isConnectionLost
        if loss.isConnectionLost {
            return "PipeWire has ended, which carries the picture: the last one stays until the screen is back"
        }
        if loss.isEnded {
            return "the desktop has ended the screen cast: the last picture stays, and the desktop asks what to share"
        }
        return "the screen has gone (\(loss.why ?? "")): the last picture stays until it is back"
    }

    /// Does what is due for a lost source.
    mutating func proceed() -> Step {
        switch state {
        case .fine, .judging, .over: return .none
        case .waiting(let instant):
            guard MonotonicClock.now >= instant else { return .none }
            state = .opening(Attempt(cast, usesRestoring, wakeup, hasPipeWire))
            return .none
        case .opening(let attempt):
            guard let result = attempt.take() else { return .none }
            do throws(SourceFailure) {
                let grant = try result.get()
                let stream = try ReceivedStream(descriptor: grant.descriptor, node: grant.node)
                state = .fine
                openedAt = MonotonicClock.now
                return .source(stream, grant)
            } catch {
                return failed(error)
            }
        }
    }

    private mutating func failed(_ failure: SourceFailure) -> Step {
        if !usesRestoring || failure.code == .notPermitted {
            state = .over
            return .news("\(failure.message); the last picture stays. Start share again to choose a screen")
        }
        wait(from: MonotonicClock.now)
        defer { lastNews = failure.message }
        return failure.message == lastNews ? .none : .news("\(failure.message); it is tried again")
    }

    private mutating func wait(from now: MediaInstant) {
        state = .waiting(until: now + delay)
        delay = min(MediaDuration(nanoseconds: delay.nanoseconds * 2), Self.longestDelay)
    }

    /// Ends an attempt that is under way.
    mutating func abandon() {
        if case .opening(let attempt) = state { attempt.abandon() }
        state = .over
    }

    /// Asks the desktop on a thread of its own, as it answers when its user does.
    private final class Attempt: Sendable {
        private struct Shared {
            var result: Result<ScreenCastGrant, SourceFailure>?
            var isAbandoned = false
        }

        private let shared = Mutex(Shared())

        init(
            _ cast: any ScreenCast, _ usesRestoring: Bool, _ wakeup: Wakeup,
            _ hasPipeWire: @escaping @Sendable () -> Bool
        ) {
            let thread = try? NamedThread.start("portal") { [self] in
                // A restore token is used up by an attempt, so none is made that cannot succeed.
                let result: Result<ScreenCastGrant, SourceFailure> =
                    if usesRestoring, !hasPipeWire() {
                        .failure(PipeWireServer.missing)
                    } else {
                        Result { () throws(SourceFailure) in try cast.open(usesRestoring: usesRestoring) }
                    }
                deliver(result)
                wakeup.signal()
            }
            if thread == nil {
                deliver(.failure(SourceFailure(.unsupported, "no thread is left to ask the desktop with")))
                wakeup.signal()
            }
        }

        private func deliver(_ result: Result<ScreenCastGrant, SourceFailure>) {
            let isUnwanted = shared.withLock { shared in
                if !shared.isAbandoned { shared.result = result }
                return shared.isAbandoned
            }
            if isUnwanted, case .success(let grant) = result { Glibc.close(grant.descriptor) }
        }

        func take() -> Result<ScreenCastGrant, SourceFailure>? {
            shared.withLock { shared in
                defer { shared.result = nil }
                return shared.result
            }
        }

        func abandon() {
            let result = shared.withLock { shared in
                defer { shared.result = nil }
                shared.isAbandoned = true
                return shared.result
            }
            if case .success(let grant)? = result { Glibc.close(grant.descriptor) }
        }
    }
}
