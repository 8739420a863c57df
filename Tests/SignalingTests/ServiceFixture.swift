import Foundation
import LinuxRuntime
import MediaCore
import NIOHTTP1
import SessionDescription
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A service without media: answers as the test defines, and records the calls that it receives.
final class FakeService: ServiceDelegate {
    struct Seen {
        var requests: [PairingRequest] = []
        var withdrawn: [KnockID] = []
        var ended: [KnockID] = []
        var offers: [Publisher] = []
        var fragments: [String] = []
        var closed: [SessionID] = []
        var tunnels: [TunnelID] = []
        var listings: [Listing] = []
        var pauses: [BroadcastHold?] = []
        var passed: [MemberKeys] = []
        var removed: [[UInt8]] = []
        var returns = 0
        /// Sessions whose publishers are not heard.
        var silent: Set<SessionID> = []
        /// Of the offers from now on.
        var refusal: OfferRefusal?
    }

    private let state = Mutex(Seen())
    private let decision: @Sendable (PairingRequest) async -> PairingDecision
    private let answer: @Sendable (Publisher) async throws(OfferRefusal) -> String
    let onRequest = OneShot<PairingRequest>()
    let onWithdrawal = OneShot<KnockID>()
    let onEnd = OneShot<KnockID>()
    let onClose = OneShot<SessionID>()
    /// The task of `decide` was cancelled.
    let onCancellation = OneShot<Void>()

    init(
        decision: @escaping @Sendable (PairingRequest) async -> PairingDecision = { _ in .accepted },
        answer: @escaping @Sendable (Publisher) async throws(OfferRefusal) -> String
    ) {
        self.decision = decision
        self.answer = answer
    }

    var seen: Seen { state.withLock { $0 } }

    func decide(_ request: PairingRequest) async -> PairingDecision {
        state.withLock { $0.requests.append(request) }
        onRequest.fulfil(request)
        return await withTaskCancellationHandler {
            await decision(request)
        } onCancel: {
            onCancellation.fulfil(())
        }
    }

    func pairingWithdrawn(_ id: KnockID) async {
        state.withLock { $0.withdrawn.append(id) }
        onWithdrawal.fulfil(id)
    }

    func pairingEnded(_ id: KnockID) async {
        state.withLock { $0.ended.append(id) }
        onEnd.fulfil(id)
    }

    func openSession(offer: String, publisher: Publisher) async throws(OfferRefusal) -> OpenedSession {
        let refusal = state.withLock { state in
            state.offers.append(publisher)
            return state.refusal
        }
        if let refusal { throw refusal }
        return OpenedSession(id: .random(), answer: try await answer(publisher), etag: "one")
    }

    func applyFragment(_ fragment: String, to session: SessionID) async throws(OfferRefusal) -> RestartedSession? {
        state.withLock { $0.fragments.append(fragment) }
        return try fakeAnswer(to: fragment)
    }

    /// It is a relay.
    func openTunnel(_ session: SessionID, of id: TunnelID, publisher: Publisher) async -> Bool {
        state.withLock { $0.tunnels.append(id) }
        return true
    }

    func list(
        _ listing: Listing, of application: ApplicationInfo, by sessions: [SessionID]
    ) async -> ListingOutcome {
        state.withLock { $0.listings.append(listing) }
        return .listed
    }

    func handle(_ message: PublisherMessage, by sessions: [SessionID]) async -> Bool {
        state.withLock { state in
            switch message {
            case .hold(let hold): state.pauses.append(hold)
            case .keys(let keys): state.passed += keys
            case .returnViewers: state.returns += 1
            case .removal(let viewer):
                state.removed.append(viewer)
                return viewer.first == 1
            case .application, .sealed, .decision: return false
            }
            return true
        }
    }

    func silentSessions(among sessions: [SessionID], for publisher: Publisher) async -> [SessionID] {
        state.withLock { state in sessions.filter(state.silent.contains) }
    }

    func refuseOffers(_ refusal: OfferRefusal) { state.withLock { $0.refusal = refusal } }

    func noteSilence(of session: SessionID) { state.withLock { _ = $0.silent.insert(session) } }

    func closeSession(_ session: SessionID) async {
        state.withLock { $0.closed.append(session) }
        onClose.fulfil(session)
    }
}

/// A server on a free port of 127.0.0.1 with one service, and the link to it.
struct ServiceFixture {
    let identity: Identity
    let delegate: FakeService
    let server: SignalingServer
    let service: ServiceResource
    let link: ServiceLink

    /// The configurations of the server and of its service, whose members it has.
    @dynamicMemberLookup
    struct Settings {
        var server = SignalingServer.Configuration(host: "127.0.0.1")
        var service: ServiceConfiguration

        subscript<Value>(dynamicMember member: WritableKeyPath<SignalingServer.Configuration, Value>) -> Value {
            get { server[keyPath: member] }
            set { server[keyPath: member] = newValue }
        }

        subscript<Value>(dynamicMember member: WritableKeyPath<ServiceConfiguration, Value>) -> Value {
            get { service[keyPath: member] }
            set { service[keyPath: member] = newValue }
        }
    }

    static func conference(_ id: String = "com.example.conference") throws -> ServiceDescription {
        try ServiceDescription(
            id: try #require(ServiceID(id)), name: "Conference",
            fields: [try SetupField(name: "title", label: "Title")], terms: "Be kind.")
    }

    static func with(
        decision: @escaping @Sendable (PairingRequest) async -> PairingDecision = { _ in .accepted },
        answerFingerprint: [UInt8]? = nil, refusal: OfferRefusal? = nil,
        beforeAnswer: @escaping @Sendable () async -> Void = {},
        configure: (inout Settings) -> Void = { _ in },
        _ body: (ServiceFixture) async throws -> Void
    ) async throws {
        let identity = try Identity.ephemeral()
        let fingerprint = answerFingerprint ?? identity.fingerprint
        let delegate = FakeService(decision: decision) { _ throws(OfferRefusal) in
            await beforeAnswer()
            if let refusal { throw refusal }
            return description(fingerprint)
        }
        var settings = Settings(service: ServiceConfiguration(try conference()))
        settings.failureDelay = .zero
        configure(&settings)
        let server = SignalingServer(identity: identity, configuration: settings.server)
        let service = try server.add(settings.service, delegate: delegate)
        let port = try await server.start()
        let link = ServiceLink(host: "127.0.0.1", port: port, id: service.id, fingerprint: identity.fingerprint)
        do {
            try await body(
                ServiceFixture(identity: identity, delegate: delegate, server: server, service: service, link: link))
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Runs `body` with a client of the service, and with its link if there is no other.
    func client(_ link: ServiceLink? = nil, _ body: (ServiceClient) async throws -> Void) async throws {
        let client = try ServiceClient(link: link ?? self.link)
        do {
            try await body(client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    /// Runs `body` with a client that sends requests which `ServiceClient` never would.
    func wire(_ body: (RawHTTPClient) async throws -> Void) async throws {
        let server = Link(
            host: link.host, port: link.port, id: .random(), secret: Link.randomSecret(), fingerprint: link.fingerprint)
        try await RawHTTPClient.with(server, body)
    }

    var budget: ApplicationInfo { ApplicationInfo(id: "com.example.budget", name: "Budget") }
    var setup: [String: String] { ["title": "Numbers"] }

    /// Pairs, and returns the grant.
    func pair(_ client: ServiceClient, _ identity: Identity) async throws -> ServiceGrant {
        _ = try await client.pair(application: budget, identity: identity)
        #expect(try await client.accept(setup: setup) == nil)
        return try await client.waitForGrant()
    }
}

/// A host that writes its requests itself.
struct RawHost {
    let stage: ServiceFixture
    let wire: RawHTTPClient
    let identity: Identity
    var application: ApplicationInfo { stage.budget }

    /// An opened pairing: its path, and what both sides sign.
    struct Opened {
        let place: String
        let transcript: PairingTranscript
        let answer: HTTPAnswer
    }

    func body(nonce: [UInt8] = randomBytes(32)) throws -> String {
        let document = PairingRequestDocument(application: application, identity: identity, nonce: nonce)
        return String(decoding: try JSONEncoder().encode(document), as: UTF8.self)
    }

    func open(_ body: String? = nil) async throws -> Opened {
        let body = try body ?? self.body()
        let answer = try await wire.ask(.POST, stage.link.path + "/pair", body: body)
        guard answer.status == 202 else { throw RawHTTPClient.Unexpected(answer: answer) }
        let request = try JSONDecoder().decode(PairingRequestDocument.self, from: Data(body.utf8))
        let document = try #require(answer.document(PairingOfferDocument.self))
        let offer = try #require(document.offer)
        let transcript = PairingTranscript(
            application: request.application, service: stage.link.id, serviceFingerprint: stage.link.fingerprint,
            hostFingerprint: try #require(request.fingerprintBytes), hostNonce: try #require(request.nonceBytes),
            serviceNonce: offer.nonce)
        #expect(
            transcript.isSigned(offer.signature, by: .service, certificate: stage.identity.certificateDER))
        return Opened(
            place: try #require(answer.headers.first(name: "Location")), transcript: transcript, answer: answer)
    }

    func acceptance(
        of opened: Opened, role: PairingRole = .host, by identity: Identity? = nil, setup: [String: String]? = nil
    ) throws -> String {
        let signature = (identity ?? self.identity).signature(over: opened.transcript.signedBytes(role: role))
        let document = PairingAcceptanceDocument(setup: setup ?? stage.setup, signature: signature)
        return String(decoding: try JSONEncoder().encode(document), as: UTF8.self)
    }

    func accept(_ opened: Opened) async throws {
        let answer = try await wire.ask(.PUT, opened.place, body: try acceptance(of: opened))
        guard answer.status == 204 else { throw RawHTTPClient.Unexpected(answer: answer) }
    }

    /// Pairs, and returns the token.
    func token() async throws -> String {
        let opened = try await open()
        try await accept(opened)
        let answer = try await wire.ask(.GET, opened.place)
        guard answer.status == 200 else { throw RawHTTPClient.Unexpected(answer: answer) }
        return try #require(answer.document(PairingGrantDocument<ICEServer>.self)).token
    }

    func publish(_ token: String, fingerprint: [UInt8]? = nil) async throws -> HTTPAnswer {
        try await wire.ask(
            .POST, stage.link.path + "/whip", [sdpType, bearer(token)],
            body: description(fingerprint ?? identity.fingerprint))
    }
}

extension ServiceFixture {
    /// Runs `body` with a host that writes its requests itself.
    func host(_ body: (RawHost) async throws -> Void) async throws {
        let identity = try Identity.ephemeral()
        try await wire { try await body(RawHost(stage: self, wire: $0, identity: identity)) }
    }
}

/// The failure that `body` throws; nil if it throws none.
func failure(_ body: () async throws -> Void) async -> PairingFailure? {
    do {
        try await body()
        return nil
    } catch let error as PairingFailure {
        return error
    } catch {
        Issue.record(error)
        return nil
    }
}
