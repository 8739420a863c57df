import Admission
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// The state that all routes of one broadcast share. Safe from any thread.
final class SignalingService: Sendable {
    let configuration: SignalingServer.Configuration
    let identity: Identity
    let proof: Proof
    let delegate: any SignalingServerDelegate
    let logger: Logger
    let admissions: AdmissionRegister
    let knocks: KnockRegister
    let eventStreams: EventStreams
    let connections: ConnectionRegister
    private let counters: Mutex<SignalingStatistics>
    private let slowed = Mutex(0)

    init(
        identity: Identity, configuration: SignalingServer.Configuration, delegate: any SignalingServerDelegate,
        logger: Logger
    ) {
        self.configuration = configuration
        self.identity = identity
        self.delegate = delegate
        self.logger = logger
        proof = Proof(id: configuration.id, secret: configuration.secret)
        admissions = AdmissionRegister(fixedToken: configuration.fixedToken, limits: configuration.tokenLimits)
        eventStreams = EventStreams(capacity: configuration.eventStreamCapacity)
        let counter = CounterBox()
        counters = Mutex(SignalingStatistics())
        knocks = KnockRegister(
            delegate: delegate, admissions: admissions, limits: configuration.knockLimits,
            poll: configuration.pollTimeout
        ) { outcome in counter.count(outcome) }
        connections = ConnectionRegister(limiter: RequestLimiter(limits: configuration.limits, now: .now)) { event in
            counter.count(event)
        }
        counter.set(self)
    }

    func count(_ change: @Sendable (inout SignalingStatistics) -> Void) { counters.withLock { change(&$0) } }
    var statistics: SignalingStatistics { counters.withLock { $0 } }

    /// Delays the response to a wrong proof or token. At most 16 responses are delayed at a time.
    func slowDown() async {
        let mayWait = slowed.withLock { count in
            guard count < 16 else { return false }
            count += 1
            return true
        }
        guard mayWait else { return }
        try? await Task.sleep(for: configuration.failureDelay)
        slowed.withLock { $0 -= 1 }
    }
}

/// Gives closures that parts of the service hold access to its counters, without a reference cycle.
private final class CounterBox: Sendable {
    private struct Weak: Sendable { weak var service: SignalingService? }
    private let box = Mutex(Weak())

    var service: SignalingService? { box.withLock { $0.service } }
    func set(_ service: SignalingService) { box.withLock { $0.service = service } }

    func count(_ event: ConnectionRegister.Event) {
        service?.count { statistics in
            switch event {
            case .accepted: statistics.connections += 1
            case .refused: statistics.connectionsRefused += 1
            case .displaced: statistics.connectionsDisplaced += 1
            case .plainHTTP: statistics.plainHTTP += 1
            case .handshakeTimedOut: statistics.handshakesTimedOut += 1
            case .writeTimedOut: statistics.writesTimedOut += 1
            }
        }
    }

    func count(_ outcome: KnockTable.Outcome) {
        service?.count { statistics in
            switch outcome {
            case .accepted: statistics.knocksAccepted += 1
            case .refused: statistics.knocksRefused += 1
            case .unanswered: statistics.knocksUnanswered += 1
            case .withdrawn, .ended, .replaced, .displaced: statistics.knocksWithdrawn += 1
            case .crowded: statistics.knocksLimited += 1
            }
        }
    }
}

/// One request with its complete body.
struct RouteRequest: Sendable {
    let method: HTTPRequest.Method
    /// The path without its query, split at slashes.
    let path: [Substring]
    let headers: HTTPFields
    let body: ByteBuffer
    let address: PeerAddress
    let channel: any Channel

    var bodyText: String { String(buffer: body) }

    /// The media type without parameters, in lower case.
    var mediaType: String {
        let text = headers[.contentType] ?? ""
        return text.prefix(while: { $0 != ";" }).lowercased().filter { !$0.isWhitespace }
    }

    var bearer: String? {
        guard let text = headers[.authorization], text.lowercased().hasPrefix("bearer ") else { return nil }
        let token = text.dropFirst("bearer ".count).drop(while: { $0 == " " })
        return token.isEmpty || token.utf8.count > 512 ? nil : String(token)
    }
}
