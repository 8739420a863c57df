import FoundationEssentials
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix

/// A knock that waits for its answer.
public struct KnockTicket: Sendable {
    /// Secret: whoever has it collects the answer.
    let path: String
    /// What the host sees too.
    public let words: ShortAuthenticationString
}

/// What the host's owner said.
public enum KnockAnswer: Sendable, Equatable {
    case accepted(token: String, iceServers: [ICEServer])
    case refused(String)
    case unanswered
}

/// The host's answer to an offer, proven to come from whom the link names.
public struct OfferAnswer: Sendable {
    public let sdp: String
    /// Path of the session's resource; holds 128 secret bits.
    public let resource: String
    public let etag: String
}

/// The host's side of an ICE restart.
public struct RestartAnswer: Sendable {
    /// `application/trickle-ice-sdpfrag`.
    public let fragment: String
}

/// A viewer's way in: knock, wait, offer, trickle, listen, leave.
///
/// Keeps its connections for the next request; event streams have their own. Call `close` at the end.
public actor SignalingClient {
    public struct Configuration: Sendable {
        public var connectTimeout: Duration = .seconds(5)
        /// For the answer to a request that is not a poll.
        public var answerTimeout: Duration = .seconds(10)
        /// For the answer to a poll, which a host holds for 20 s.
        public var pollTimeout: Duration = .seconds(30)
        /// Unread events that an event stream keeps; one more ends it with `.connectionLost`.
        public var eventCapacity = 64
        public init() {}
    }

    private let link: Link
    private let proof: Proof
    /// So that the host knows a session that replaces another from one of another program with the same certificate.
    private let visit = ClientInstanceID.random()
    private let configuration: Configuration
    private let group: MultiThreadedEventLoopGroup
    private let connector: PinnedConnector
    private var idle: [any Channel] = []
    private var streams: [any Channel] = []
    private var fingerprint: [UInt8]?
    private var token: String?
    private var session: OfferAnswer?
    private var isClosed = false
    private var connecting = 0

    public init(link: Link, configuration: Configuration = Configuration()) throws(SignalingError) {
        self.link = link
        self.configuration = configuration
        proof = Proof(link: link)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        connector = try PinnedConnector(link: link, group: group, timeout: configuration.connectTimeout)
    }

    /// Whether this broadcast is there: the status of its page. Checks the certificate, and knocks at nobody's door.
    public func look() async throws(SignalingError) -> Int {
        Int(try await ask(.GET, path: "/\(link.id.text)").status)
    }

    /// Asks to come in, and proves that this identity is ours: the host's owner is asked now. The token will be for its certificate
    /// alone.
    /// - Throws: `.refused` if the host said no to this identity a short while ago.
    public func knock(name: String, identity: Identity) async throws(SignalingError) -> KnockTicket {
        guard let viewer = ViewerIdentity(fingerprint: identity.fingerprint) else {
            throw SignalingError(.offerRefused, "the certificate has no usable fingerprint")
        }
        return try await knock(name: name, identity: viewer, certificate: identity.certificateDER) { challenge in
            try? identity.signature(over: challenge.signedBytes)
        }
    }

    /// - Parameter sign: gives 64 bytes r | s, or nil.
    func knock(
        name: String, identity: ViewerIdentity, certificate: [UInt8]?, sign: @Sendable (KnockChallenge) -> [UInt8]?
    ) async throws(SignalingError) -> KnockTicket {
        fingerprint = identity.fingerprint
        let request = KnockRequest(
            name: name, fingerprint: FingerprintText.colons(identity.fingerprint),
            proof: Base64URL.encode(proof.viewer(fingerprint: identity.fingerprint)),
            key: identity.key.map { Base64URL.encode($0) })
        guard let body = try? JSONEncoder().encode(request) else {
            throw SignalingError(.offerRefused, "the name cannot be sent")
        }
        let answer = try await ask(.POST, "/knock", type: "application/json", body: ByteBuffer(bytes: body))
        if answer.status == 404 { throw .oldLink }
        guard answer.status == 202 else { throw failure(answer) }
        guard let path = answer.headers.first(name: "Location"), path.hasPrefix("/\(link.id.text)/knock/"),
            let document = try? JSONDecoder().decode(
                ChallengeDocument.self, from: Data(answer.body.readableBytesView)),
            let nonce = Base64URL.decode(document.nonce), nonce.count == KnockChallenge.nonceLength
        else { throw .stranger(link, "its answer to a knock makes no sense; it may be of another version") }
        let challenge = KnockChallenge(id: link.id, host: link.fingerprint, identity: identity, nonce: nonce)
        guard let signature = sign(challenge),
            let proof = try? JSONEncoder().encode(
                SignatureRequest(
                    signature: Base64URL.encode(signature), certificate: certificate.map { Base64URL.encode($0) }))
        else { throw SignalingError(.offerRefused, "this machine's key does not sign") }
        let signed = try await ask(.PUT, path: path, type: "application/json", body: ByteBuffer(bytes: proof))
        guard signed.status == 204 else { throw failure(signed) }
        return KnockTicket(path: path, words: challenge.words)
    }

    /// Waits until somebody answers; the host gives up after 60 s.
    public func waitForAnswer(_ ticket: KnockTicket) async throws(SignalingError) -> KnockAnswer {
        var losses = 0
        while true {
            let answer: HTTPAnswer
            do {
                answer = try await ask(.GET, path: ticket.path, timeout: configuration.pollTimeout)
            } catch {
                // A poll may be asked again; the host keeps the knock for some seconds.
                losses += 1
                guard error.code == .connectionLost, losses < 3, !Task.isCancelled else { throw error }
                continue
            }
            switch answer.status {
            case 202: continue
            case 200:
                guard
                    let document = try? JSONDecoder().decode(
                        AdmissionDocument.self, from: Data(answer.body.readableBytesView))
                else { throw SignalingError.stranger(link, "its answer makes no sense") }
                token = document.token
                return .accepted(token: document.token, iceServers: Array(document.iceServers.prefix(16)))
            default:
                let failure = failure(answer)
                switch failure.code {
                case .refused: return .refused(failure.description)
                case .unanswered: return .unanswered
                default: throw failure
                }
            }
        }
    }

    /// The viewer does not want to wait any more.
    public func withdraw(_ ticket: KnockTicket) async { _ = try? await ask(.DELETE, path: ticket.path) }

    /// Sends an offer and checks who answers: the answer's certificate has to be the link's, and its proof has to match.
    /// - Parameter patience: for a new connection, and again for the answer; nil: the usual, over an idle connection too.
    public func offer(
        _ sdp: String, token: String, patience: Duration? = nil
    ) async throws(SignalingError) -> OfferAnswer {
        self.token = token
        let answer = try await ask(
            .POST, path: "/\(link.id.text)/whep", type: "application/sdp", body: ByteBuffer(string: sdp),
            extra: [(Header.shareVisit.rawName, visit.text)], timeout: patience, isFresh: patience != nil)
        guard answer.status == 201, let resource = answer.headers.first(name: "Location"),
            resource.hasPrefix("/\(link.id.text)/whep/")
        else { throw failure(answer) }
        guard FingerprintText.only(in: answer.text) == link.fingerprint else {
            throw SignalingError(
                .hostNotProven, "the answer names another certificate than the link: somebody in between wants to watch"
            )
        }
        let etag = (answer.headers.first(name: "ETag") ?? "").filter { $0 != "\"" }
        let viewer = fingerprint ?? FingerprintText.only(in: sdp) ?? []
        guard let proof = answer.headers.first(name: "Share-Proof").flatMap({ Base64URL.decode($0) }),
            self.proof.isHost(proof, viewer: viewer, host: link.fingerprint)
        else {
            throw SignalingError(.hostNotProven, "the host could not prove that it knows the link's secret")
        }
        let result = OfferAnswer(sdp: answer.text, resource: resource, etag: etag)
        session = result
        return result
    }

    /// Sends a fragment (RFC 8840) for the session that `offer` opened.
    public func trickle(_ fragment: String) async throws(SignalingError) {
        guard let session else { throw SignalingError(.gone, "there is no session yet") }
        let answer = try await ask(
            .PATCH, path: session.resource, type: "application/trickle-ice-sdpfrag", body: ByteBuffer(string: fragment),
            extra: [("If-Match", "\"\(session.etag)\"")])
        guard (200..<300).contains(answer.status) else { throw failure(answer) }
    }

    /// Sends the credentials and candidates of an ICE restart (RFC 9725 section 4.4) over a connection of its own: those
    /// from before an outage may be dead without knowing it.
    /// - Parameter patience: for the connection, and again for the answer.
    /// - Throws: `.gone` if the host has no such session any more.
    public func restart(_ fragment: String, patience: Duration) async throws(SignalingError) -> RestartAnswer {
        guard let session else { throw SignalingError(.gone, "there is no session yet") }
        let answer = try await ask(
            .PATCH, path: session.resource, type: "application/trickle-ice-sdpfrag", body: ByteBuffer(string: fragment),
            extra: [("If-Match", "*")], timeout: patience, isFresh: true)
        guard answer.status != 503 else { throw SignalingError(.tooMany, "the host cannot restart ICE now") }
        guard answer.status == 200 else { throw failure(answer) }
        let etag = (answer.headers.first(name: "ETag") ?? "").filter { $0 != "\"" }
        if self.session?.resource == session.resource {
            self.session = OfferAnswer(sdp: session.sdp, resource: session.resource, etag: etag)
        }
        return RestartAnswer(fragment: answer.text)
    }

    /// After an outage: gives up all connections, so that what comes next uses new ones. Event streams end with
    /// `.connectionLost`.
    public func hangUp() {
        for channel in idle + streams { channel.close(mode: .all, promise: nil) }
        idle = []
        streams = []
    }

    /// What the host tells while this viewer watches. Ends after `.ended`; throws `.connectionLost` when the connection breaks.
    public func events(
        patience: Duration? = nil
    ) async throws(SignalingError) -> AsyncThrowingStream<HostEvent, any Error> {
        let channel = try await connect(patience: patience)
        let (events, feed) = AsyncThrowingStream.makeStream(
            of: HostEvent.self, bufferingPolicy: .bufferingOldest(configuration.eventCapacity))
        let reader = EventStreamReader(feed, lost: SignalingError.lost(link)) { channel.close(promise: nil) }
        let head = channel.eventLoop.makePromise(of: HTTPResponseHead.self)
        let request = HTTPExchange.Request(
            head: requestHead(.GET, "/\(link.id.text)/events", nil, 0, [("Accept", "text/event-stream")]), body: nil,
            kind: .stream(head: head, piece: { reader.read($0) }, end: { reader.end($0) }))
        feed.onTermination = { _ in channel.close(promise: nil) }
        let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(patience ?? configuration.answerTimeout)) {
            channel.close(promise: nil)
        }
        // On its loop, which may be shut down when this continues.
        head.futureResult.whenComplete { _ in deadline.cancel() }
        HTTPExchange.send(request, on: channel)
        do {
            let status = try await head.futureResult.get().status
            guard status == .ok else {
                channel.close(promise: nil)
                throw SignalingError(.gone, "the host does not tell its events (\(status.code))")
            }
        } catch {
            throw connector.explain(error)
        }
        streams = streams.filter(\.isActive) + [channel]
        return events
    }

    /// Ends the session at the host. Never fails: a host that has gone needs no goodbye.
    public func leave() async {
        guard let session else { return }
        self.session = nil
        _ = try? await ask(.DELETE, path: session.resource, timeout: .seconds(1))
    }

    /// Closes every connection. May be called twice.
    public func close() async {
        guard !isClosed else { return }
        isClosed = true
        for channel in idle + streams { channel.close(promise: nil) }
        idle = []
        streams = []
        if connecting == 0 { try? await group.shutdownGracefully() }
    }

    /// NIO must not be asked for a connection by a group that is shut down, so the last one to connect ends it.
    private func connect(patience: Duration?) async throws(SignalingError) -> any Channel {
        guard !isClosed else { throw .lost(link) }
        connecting += 1
        let result: Result<any Channel, SignalingError>
        do throws(SignalingError) {
            result = .success(try await connector.connect(patience: patience))
        } catch {
            result = .failure(error)
        }
        connecting -= 1
        guard isClosed else { return try result.get() }
        if connecting == 0 { try? await group.shutdownGracefully() }
        throw .lost(link)
    }
}

extension SignalingClient {
    private func ask(
        _ method: HTTPMethod, _ item: String, type: String, body: ByteBuffer
    ) async throws(SignalingError) -> HTTPAnswer {
        try await ask(method, path: "/\(link.id.text)\(item)", type: type, body: body)
    }

    /// One request, over an idle connection if there is one. An idle connection that the host closed meanwhile is replaced once.
    private func ask(
        _ method: HTTPMethod, path: String, type: String? = nil, body: ByteBuffer? = nil,
        extra: [(String, String)] = [],
        timeout: Duration? = nil, isFresh: Bool = false
    ) async throws(SignalingError) -> HTTPAnswer {
        guard !isClosed else { throw .lost(link) }
        let head = requestHead(method, path, type, body?.readableBytes, extra)
        while !isFresh, let channel = idle.popLast() {
            guard channel.isActive else { continue }
            do {
                return try await exchange(head, body, on: channel, timeout)
            } catch {
                // Only an idle connection that the host has closed meanwhile deserves a second try.
                guard error is HTTPExchange.Closed, !Task.isCancelled else { throw connector.explain(error) }
            }
            break
        }
        let channel = try await connect(patience: timeout.map { min($0, connector.timeout) })
        do {
            return try await exchange(head, body, on: channel, timeout)
        } catch {
            channel.close(promise: nil)
            throw connector.explain(error)
        }
    }

    private func exchange(
        _ head: HTTPRequestHead, _ body: ByteBuffer?, on channel: any Channel, _ timeout: Duration?
    ) async throws -> HTTPAnswer {
        let promise = channel.eventLoop.makePromise(of: HTTPAnswer.self)
        let limit = TimeAmount(timeout ?? configuration.answerTimeout)
        let deadline = channel.eventLoop.scheduleTask(in: limit) {
            promise.fail(ChannelError.connectTimeout(limit))
            channel.close(promise: nil)
        }
        // On its loop, which may be shut down when this continues.
        promise.futureResult.whenComplete { _ in deadline.cancel() }
        HTTPExchange.send(HTTPExchange.Request(head: head, body: body, kind: .whole(promise)), on: channel)
        let answer = try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            channel.close(promise: nil)
        }
        // A connection whose TLS says goodbye is active for a while.
        let isKept = !answer.headers[canonicalForm: "Connection"].contains("close")
        if isKept, channel.isActive, !isClosed { idle.append(channel) } else { channel.close(promise: nil) }
        return answer
    }

    private func requestHead(
        _ method: HTTPMethod, _ path: String, _ type: String?, _ length: Int?, _ extra: [(String, String)]
    ) -> HTTPRequestHead {
        var headers = HTTPHeaders([("Host", link.authority), ("User-Agent", "share/1")] + extra)
        if let type { headers.add(name: "Content-Type", value: type) }
        if let length, length > 0 || method == .POST { headers.add(name: "Content-Length", value: String(length)) }
        if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
        return HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
    }

    /// A sentence for an answer that is not the one hoped for.
    private func failure(_ answer: HTTPAnswer) -> SignalingError {
        guard answer.headers.first(name: "Content-Type") == "application/problem+json",
            let document = try? JSONDecoder().decode(Problem.Document.self, from: Data(answer.body.readableBytesView))
        else { return .stranger(link, "it answered with status \(answer.status)") }
        let detail = PeerText.clean(document.detail, limit: 256, fallback: "no reason given")
        let code: SignalingError.Code =
            switch Problem(rawValue: document.type) {
            case .wrongProof: .wrongSecret
            case .refused, .replaced, .wrongSignature: .refused
            case .unanswered: .unanswered
            case .ended, .notFound: .gone
            case .limited: .tooMany
            case .queueFull: .queueFull
            default: .offerRefused
            }
        return SignalingError(code, detail)
    }
}
