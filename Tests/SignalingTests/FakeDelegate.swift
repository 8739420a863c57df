import LinuxRuntime
import SessionDescription
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A host without media: answers as the test defines, and records the calls that it receives.
final class FakeDelegate: SignalingServerDelegate {
    struct Seen {
        var knocks: [Knock] = []
        var withdrawn: [KnockWithdrawal] = []
        var offers: [Viewer] = []
        var fragments: [String] = []
        var closed: [SessionID] = []
        var selections: [LayerSelection] = []
    }

    private let seenState = Mutex(Seen())
    private let decision: @Sendable (Knock) async -> KnockDecision
    private let answer: @Sendable (Viewer) async throws(OfferRefusal) -> String
    /// What admitted viewers get.
    let keys = Mutex<[UInt8]?>(nil)
    /// Of a broadcast that is at a relay alone.
    let isAtRelay = Atomic(true)
    let onWithdrawal = OneShot<KnockWithdrawal>()
    let onClose = OneShot<SessionID>()
    /// The sessions of each stream of events that was opened.
    let openedStreams: AsyncStream<[SessionID]>
    private let onStream: AsyncStream<[SessionID]>.Continuation

    init(
        decision: @escaping @Sendable (Knock) async -> KnockDecision = { _ in .accepted },
        answer: @escaping @Sendable (Viewer) async throws(OfferRefusal) -> String
    ) {
        (openedStreams, onStream) = AsyncStream.makeStream(of: [SessionID].self)
        self.decision = decision
        self.answer = answer
    }

    var seen: Seen { seenState.withLock { $0 } }

    /// Waits until so many knocks have come, for 20 s at most: the server asks when it has answered the viewer.
    func knocks(_ count: Int) async -> [Knock] {
        let deadline = ContinuousClock.now + .seconds(20)
        while seen.knocks.count < count, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(2))
        }
        return seen.knocks
    }

    func decide(_ knock: Knock) async -> KnockDecision {
        seenState.withLock { $0.knocks.append(knock) }
        return await decision(knock)
    }

    func frameKeys(asMember viewer: Viewer?) async -> [UInt8]? { keys.withLock { $0 } }

    func hasPlace() async -> Bool { isAtRelay.load(ordering: .relaxed) }

    func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async {
        seenState.withLock { $0.withdrawn.append(reason) }
        onWithdrawal.fulfil(reason)
    }

    func openSession(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession {
        seenState.withLock { $0.offers.append(viewer) }
        return OpenedSession(id: .random(), answer: try await answer(viewer), etag: "one")
    }

    /// There is no temporal layer above 1.
    func select(_ layers: LayerSelection, for session: SessionID) async throws(OfferRefusal) {
        guard layers.temporalLayerId ?? 0 <= 1 else { throw OfferRefusal(.unprocessable, "there is no such layer") }
        seenState.withLock { $0.selections.append(layers) }
    }

    func applyFragment(_ fragment: String, to session: SessionID) async throws(OfferRefusal) -> RestartedSession? {
        seenState.withLock { $0.fragments.append(fragment) }
        return try fakeAnswer(to: fragment)
    }

    func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async {
        if isOpen { onStream.yield(sessions) }
    }

    func closeSession(_ session: SessionID) async {
        seenState.withLock { $0.closed.append(session) }
        onClose.fulfil(session)
    }
}

/// A fragment with `a=ice-ufrag:new` restarts ICE. A fragment with `a=ice-ufrag:half` is a restart that fails.
func fakeAnswer(to fragment: String) throws(OfferRefusal) -> RestartedSession? {
    if fragment.contains("a=ice-ufrag:half") { throw OfferRefusal(.unprocessable, "not with this half") }
    guard fragment.contains("a=ice-ufrag:new") else { return nil }
    return RestartedSession(fragment: "a=ice-ufrag:host\r\na=ice-pwd:passwordpasswordpasswd\r\n", etag: "two")
}

/// The smallest SDP that signalling accepts.
func description(_ fingerprint: [UInt8], padding: Int = 0) -> String {
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n"
        + "a=fingerprint:sha-256 \(Fingerprint.colons(fingerprint))\r\n"
        + String(repeating: "a=\(String(repeating: "x", count: 60))\r\n", count: padding / 64)
}

/// A server on a free port of 127.0.0.1, its delegate, and the link to it.
struct SignalingFixture {
    let identity: Identity
    let delegate: FakeDelegate
    let server: SignalingServer
    let broadcast: BroadcastResource
    let link: Link

    /// The configurations of the server and of its broadcast, whose members it has.
    @dynamicMemberLookup
    struct Settings {
        var server = SignalingServer.Configuration(host: "127.0.0.1")
        var broadcast = ServedBroadcastConfiguration()

        subscript<Value>(dynamicMember member: WritableKeyPath<SignalingServer.Configuration, Value>) -> Value {
            get { server[keyPath: member] }
            set { server[keyPath: member] = newValue }
        }

        subscript<Value>(dynamicMember member: WritableKeyPath<ServedBroadcastConfiguration, Value>) -> Value {
            get { broadcast[keyPath: member] }
            set { broadcast[keyPath: member] = newValue }
        }
    }

    static func with(
        decision: @escaping @Sendable (Knock) async -> KnockDecision = { _ in .accepted },
        answerFingerprint: [UInt8]? = nil, refusal: OfferRefusal? = nil,
        beforeAnswer: @escaping @Sendable () async -> Void = {},
        configure: (inout Settings) -> Void = { _ in },
        _ body: (SignalingFixture) async throws -> Void
    ) async throws {
        let identity = try Identity.ephemeral()
        let fingerprint = answerFingerprint ?? identity.fingerprint
        let delegate = FakeDelegate(decision: decision) { _ throws(OfferRefusal) in
            await beforeAnswer()
            if let refusal { throw refusal }
            return description(fingerprint)
        }
        var settings = Settings()
        settings.failureDelay = .zero
        configure(&settings)
        let server = SignalingServer(identity: identity, configuration: settings.server)
        let broadcast = try server.add(settings.broadcast, delegate: delegate)
        let port = try await server.start()
        let link = Link(
            host: "127.0.0.1", port: port, id: broadcast.id, secret: broadcast.secret,
            fingerprint: identity.fingerprint)
        do {
            try await body(
                SignalingFixture(
                    identity: identity, delegate: delegate, server: server, broadcast: broadcast, link: link))
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    func client(_ link: Link? = nil, _ body: (SignalingClient) async throws -> Void) async throws {
        let client = try SignalingClient(link: link ?? self.link)
        do {
            try await body(client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }
}

func randomFingerprint() -> [UInt8] { randomBytes(32) }

/// The code of the error that `body` throws; nil if it throws none.
func code(_ body: () async throws -> Void) async -> SignalingError.Code? {
    do {
        try await body()
        return nil
    } catch let error as SignalingError {
        return error.code
    } catch {
        Issue.record(error)
        return nil
    }
}
