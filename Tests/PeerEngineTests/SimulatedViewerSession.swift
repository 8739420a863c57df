import Identifiers
import MediaCore
import PeerEngine
import TestSupport

struct TestFailure: ViewerSessionFailure, Equatable {
    var kind: ViewerSessionFailureKind
    var isQueueFull = false
    var isRateLimited = false
    var retryAfter: Int?
    var cause: ViewerSessionCause?

    init(
        _ kind: ViewerSessionFailureKind, retryAfter: Int? = nil, isQueueFull: Bool = false, isRateLimited: Bool = false
    ) {
        self.kind = kind
        (self.retryAfter, self.isQueueFull, self.isRateLimited) = (retryAfter, isQueueFull, isRateLimited)
    }

    init(_ cause: ViewerSessionCause) {
        self.cause = cause
        if case .attemptEnded = cause { kind = .stopped } else { kind = .lost }
    }
}

/// A viewer's session in virtual time. It checks what holds for every session, at each step.
struct SimulatedViewerSession {
    typealias State = ViewerSessionState<TestFailure, String>

    struct Request {
        let id: Int
        let connection: Int
        let request: State.Request
        let begin: MediaInstant
    }

    var state: State
    var random: SeededGenerator
    private(set) var now = MediaInstant(nanoseconds: 1_000_000_000)
    /// Those without a result, superseded ones, too.
    private(set) var requests: [Request] = []
    /// The links of the connections that have not ended.
    private(set) var connections: [Int: Link] = [:]
    private(set) var reports: [State.Report] = []
    private(set) var passed: [String] = []
    private(set) var end: TestFailure?
    private(set) var listening: [Int] = []
    private(set) var knocks: [(link: Link, at: MediaInstant)] = []
    private(set) var returnedViewers = 0
    private(set) var noted: [OutageRecovery.AttemptResult] = []
    /// What did not hold.
    private(set) var violations: [String] = []
    private var newest: [Int: Int] = [:]
    private var superseded: [Int] = []

    static func link(_ number: Int) -> Link {
        Link(
            host: "192.0.2.\(number)", port: 443, id: BroadcastID(7),
            secret: [UInt8](repeating: 1, count: 16), fingerprint: [UInt8](repeating: UInt8(number), count: 32))
    }

    static let home = link(1)

    init(seed: UInt64 = 1, followsAlternates: Bool = true, handsSinkOver: Bool = true) {
        state = State(
            home: Self.home, rules: .init(followsAlternates: followsAlternates, handsSinkOver: handsSinkOver))
        random = SeededGenerator(seed: seed)
    }

    // MARK: Inputs

    mutating func handle(_ input: State.Input) { take(state.handle(input, now: now, using: &random)) }

    /// Lets time pass, and handles the deadlines.
    mutating func wait(_ time: MediaDuration) {
        let end = now + time
        while let deadline = state.deadline, deadline <= end {
            now = max(now, deadline)
            take(state.advance(now: now, using: &random))
            if let next = state.deadline, next <= now { return note("the deadline stays at the present") }
        }
        now = end
    }

    /// Ends the newest request of a kind.
    @discardableResult
    mutating func answer(_ isWanted: (State.Request) -> Bool, _ result: State.Result) -> Bool {
        guard let index = requests.lastIndex(where: { isWanted($0.request) }) else { return false }
        answer(requests.remove(at: index), result)
        return true
    }

    mutating func answer(at index: Int, _ result: State.Result) { answer(requests.remove(at: index), result) }

    private mutating func answer(_ request: Request, _ result: State.Result) {
        if newest[request.connection] == request.id { newest[request.connection] = nil }
        handle(.result(request.id, result))
        // The same result once more, and those that were superseded, change nothing.
        for id in superseded + [request.id] {
            let before = "\(state)"
            let actions = state.handle(.result(id, result), now: now, using: &random)
            if !actions.isEmpty || "\(state)" != before { note("a superseded result counted") }
        }
        superseded.removeAll()
        if case .withdrawn(true) = result { endConnection(request.connection) }
        if case .finished = result, case .finish = request.request { finished = request.connection }
    }

    private var finished: Int?

    // MARK: Actions

    private mutating func take(_ actions: [State.Action]) {
        if end != nil, !actions.isEmpty { note("an ended session does something") }
        for action in actions { take(action) }
        if let deadline = state.deadline, deadline > now + .seconds(61) { note("a wait of more than a minute") }
    }

    private mutating func take(_ action: State.Action) {
        switch action {
        case .request(let id, let number, let request): take(request, id, number)
        case .tell(let report): reports.append(report)
        case .pass(let event): passed.append(event)
        case .listen(let number):
            if listening.contains(number) { note("listens twice") }
            listening.append(number)
        case .retire(let number): endConnection(number)
        case .end(let reason): end = reason
        case .returnViewers: returnedViewers += 1
        case .noteAttempt(_, let result, _): noted.append(result)
        case .noteNamer, .closeConnections: break
        }
    }

    private mutating func take(_ request: State.Request, _ id: Int, _ number: Int) {
        if case .open(let link, let former) = request {
            if let former { endConnection(former) }
            if connections[number] != nil { note("a number is used twice") }
            connections[number] = link
            if connections.count > 2 { note("more than two connections") }
        } else if connections[number] == nil {
            note("a request of no connection")
        }
        if let older = newest[number] {
            superseded.append(older)
            let isEnd =
                switch request {
                case .withdraw, .finish: true;
                default: false
                }
            // A recovery's attempt may follow a connect whose result is not here yet.
            if !isEnd { note("two requests of a connection: \(request)") }
        }
        newest[number] = id
        if case .knock = request { knocks.append((connections[number] ?? Self.home, now)) }
        requests.append(Request(id: id, connection: number, request: request, begin: now))
    }

    private mutating func endConnection(_ number: Int) {
        connections[number] = nil
        if let id = newest.removeValue(forKey: number) { superseded.append(id) }
        requests.removeAll { $0.connection == number }
    }

    private mutating func note(_ violation: String) { violations.append(violation) }
}

extension SimulatedViewerSession {
    /// The connection whose media is shown.
    var present: Int { state.presentNumber ?? 0 }

    /// Has the server of the newest connection admit the viewer and answer its offer.
    mutating func connect(pass: String? = nil, redirect: State.Redirect? = nil) {
        answer({ if case .open = $0 { true } else { false } }, .opened)
        answer({ if case .knock = $0 { true } else { false } }, .knocked(words: "a b c d"))
        answer({ if case .waitForAnswer = $0 { true } else { false } }, .admitted(pass: pass, redirect: redirect))
        answer({ if case .connect = $0 { true } else { false } }, .connected)
    }

    mutating func finish() {
        guard let index = requests.lastIndex(where: { if case .finish = $0.request { true } else { false } }),
            case .finish(let reason, _) = requests[index].request
        else { return }
        answer(at: index, .finished(reason))
    }

    /// The request that waits, of the newest connection.
    var last: State.Request? { requests.last?.request }
}
