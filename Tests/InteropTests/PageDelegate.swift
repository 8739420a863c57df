import Admission
import Identifiers
import Identity
import MediaCore
import SessionDescription
import Signaling
import Synchronization

/// A host without media: accepts or refuses as the test defines, and answers offers with an unreachable description.
final class PageDelegate: SignalingServerDelegate {
    let knocks: AsyncStream<Knock>
    let withdrawals: AsyncStream<KnockWithdrawal>
    let offers: AsyncStream<String>
    let fragments: AsyncStream<String>
    let opened: AsyncStream<SessionID>
    let closed: AsyncStream<SessionID>
    let messages: AsyncStream<ViewerMessage>

    private let onKnock: AsyncStream<Knock>.Continuation
    private let onWithdrawal: AsyncStream<KnockWithdrawal>.Continuation
    private let onOffer: AsyncStream<String>.Continuation
    private let onFragment: AsyncStream<String>.Continuation
    private let onOpen: AsyncStream<SessionID>.Continuation
    private let onClose: AsyncStream<SessionID>.Continuation
    private let onMessage: AsyncStream<ViewerMessage>.Continuation
    private let decision: @Sendable (Knock) async -> KnockDecision
    private let fingerprint: [UInt8]
    private let candidate: String
    private let count = Atomic(0)

    /// - Parameter address: the address of its only candidate.
    init(fingerprint: [UInt8], address: String, decision: @escaping @Sendable (Knock) async -> KnockDecision) {
        self.fingerprint = fingerprint
        candidate = "candidate:1 1 udp 2130706431 \(address) 9 typ host"
        self.decision = decision
        (knocks, onKnock) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
        (withdrawals, onWithdrawal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
        (offers, onOffer) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
        (fragments, onFragment) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
        (opened, onOpen) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
        (closed, onClose) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
        (messages, onMessage) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
    }

    /// The number of knocks.
    var knockCount: Int { count.load(ordering: .relaxed) }

    func decide(_ knock: Knock) async -> KnockDecision {
        count.add(1, ordering: .relaxed)
        onKnock.yield(knock)
        return await decision(knock)
    }

    func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async { onWithdrawal.yield(reason) }

    func openSession(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession {
        onOffer.yield(offer)
        do {
            let text = (try Self.media(fingerprint: fingerprint, candidate: candidate)).answer(
                to: try Offer(offer, for: .sending))
            let id = SessionID.random()
            onOpen.yield(id)
            return OpenedSession(id: id, answer: text, etag: "one")
        } catch {
            throw OfferRefusal(.notAcceptable, "\(error)")
        }
    }

    func applyFragment(_ fragment: String, to session: SessionID) async throws(OfferRefusal) -> RestartedSession? {
        onFragment.yield(fragment)
        return nil
    }

    func select(_ layers: LayerSelection, for session: SessionID) async throws(OfferRefusal) {}

    func closeSession(_ session: SessionID) async { onClose.yield(session) }

    /// Refuses comments of the text "no".
    func take(_ messages: [ViewerMessage], from viewer: Viewer) async -> MessageRefusal? {
        for message in messages { onMessage.yield(message) }
        return messages.contains(.comment("no")) ? .notAllowed(.comment) : nil
    }

    struct Unmade: Error {}

    /// A host whose candidate does not answer.
    static func media(
        fingerprint: [UInt8], candidate: String = "candidate:1 1 udp 2130706431 127.0.0.1 9 typ host",
        audioTracks: Int = 2
    ) throws -> LocalDescription {
        guard let credentials = ICECredentials(usernameFragment: "host", password: "passwordpasswordpasswd"),
            let fingerprint = Fingerprint(sha256: fingerprint),
            let candidate = ICECandidate(candidate)
        else { throw Unmade() }
        let audio = [
            LocalAudioTrack(ssrc: 3, kind: .applicationAudio), LocalAudioTrack(ssrc: 4, kind: .microphoneAudio),
        ]
        return LocalDescription(
            credentials: credentials, fingerprint: fingerprint, candidates: [candidate], endsCandidates: true,
            video: [LocalVideoSSRCs(ssrc: 1, rtxSSRC: 2)], audio: Array(audio.prefix(audioTracks)), cname: "host",
            streamID: "share", sessionID: 1)
    }
}

extension AsyncStream where Element: Sendable {
    /// The next element; nil when the stream has ended.
    func next() async -> Element? {
        for await element in self { return element }
        return nil
    }
}

/// A signalling server on a free port of 127.0.0.1 with a ``PageDelegate``, and the link to it.
struct PageStage: Sendable {
    let delegate: PageDelegate
    let server: SignalingServer
    let broadcast: BroadcastResource
    let link: Link
    /// A page of the same server: a browser that goes there runs `pagehide`. Firefox at times does not if the next
    /// page, `about:blank` for example, has another process.
    var frontPage: String { "https://\(link.host):\(link.port)/" }

    static func with(
        answerFingerprint: [UInt8]? = nil, address: String = "127.0.0.1",
        configure: (inout ServedBroadcastConfiguration) -> Void = { _ in },
        configureServer: (inout SignalingServer.Configuration) -> Void = { _ in },
        decision: @escaping @Sendable (Knock) async -> KnockDecision = { _ in .accepted },
        _ body: (PageStage) async throws -> Void
    ) async throws {
        let identity = try Identity.ephemeral()
        let delegate = PageDelegate(
            fingerprint: answerFingerprint ?? identity.fingerprint, address: address, decision: decision)
        var configuration = SignalingServer.Configuration(host: "127.0.0.1")
        configureServer(&configuration)
        let server = SignalingServer(
            identity: identity, configuration: configuration)
        var settings = ServedBroadcastConfiguration()
        configure(&settings)
        let broadcast = try server.add(settings, delegate: delegate)
        let port = try await server.start()
        let link = Link(
            host: "127.0.0.1", port: port, id: broadcast.id, secret: broadcast.secret,
            fingerprint: identity.fingerprint)
        do {
            try await body(PageStage(delegate: delegate, server: server, broadcast: broadcast, link: link))
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Waits until the question is withdrawn.
    static var stayAway: @Sendable (Knock) async -> KnockDecision {
        { _ in
            let (never, end) = AsyncStream<KnockDecision>.makeStream(bufferingPolicy: .bufferingNewest(1))
            return await withTaskCancellationHandler {
                await never.next() ?? .unanswered
            } onCancel: {
                end.finish()
            }
        }
    }
}
