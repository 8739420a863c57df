public import Admission
import FoundationEssentials
import HTTPTypes
public import ICEServers
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
import SessionDescription

/// A knock that waits for its answer.
public struct KnockTicket: Sendable {
    /// The resource's path. It is secret: whoever has it can collect the answer.
    let path: String
    /// The words that the host shows, too.
    public let words: ShortAuthenticationString
}

/// The host's decision about a knock.
public enum KnockAnswer: Sendable, Equatable {
    case accepted(token: String, iceServers: [ICEServer])
    case refused(String)
    case unanswered
}

/// The host's answer to an offer. Its proof has been checked against the link.
public struct OfferAnswer: Sendable {
    public let sdp: String
    /// The path of the session's resource; contains 128 secret bits.
    public let resource: String
    public let etag: String
}

/// The host's answer to an ICE restart.
public struct RestartAnswer: Sendable {
    /// `application/trickle-ice-sdpfrag`.
    public let fragment: String
}

/// The viewer's side of signalling: knocks, waits for the answer, sends the offer and candidates (WHEP), and receives
/// events.
///
/// An idle connection is reused for the next request. Each event stream has a connection of its own. Call `close` at
/// the end.
public actor SignalingClient {
    public struct Configuration: Sendable {
        public var connectTimeout: Duration = .seconds(5)
        /// Time limit for the response to a request that is not a poll.
        public var answerTimeout: Duration = .seconds(10)
        /// Time limit for the response to a poll, which a host holds for 20 s.
        public var pollTimeout: Duration = .seconds(30)
        /// Capacity of the queue of unread events; one more ends the stream with `.connectionLost`.
        public var eventCapacity = 64
        public init() {}
    }

    private let link: Link
    private let proof: Proof
    /// Sent as `Share-Visit`. It lets the host distinguish a new session of this program, which replaces the previous
    /// one, from a session of another program with the same certificate.
    private let clientInstance = ClientInstanceID.random()
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

    /// Requests the broadcast's page without knocking, and returns its HTTP status. Checks the certificate.
    public func look() async throws(SignalingError) -> Int {
        Int(try await ask(.GET, path: "/\(link.id.text)").status)
    }

    /// Knocks and signs the host's challenge with `identity`. The host then asks its user. The token will be valid for
    /// the identity's certificate only.
    /// - Throws: `.refused` if the host refused this identity a short while ago.
    public func knock(name: String, identity: Identity) async throws(SignalingError) -> KnockTicket {
        guard let viewer = ViewerIdentity(fingerprint: identity.fingerprint) else {
            throw SignalingError(.offerRefused, "the certificate has no usable fingerprint")
        }
        return try await knock(name: name, identity: viewer, certificate: identity.certificateDER) { challenge in
            try? identity.signature(over: challenge.signedBytes)
        }
    }

    /// - Parameter sign: returns 64 bytes r | s, or nil.
    func knock(
        name: String, identity: ViewerIdentity, certificate: [UInt8]?, sign: @Sendable (KnockChallenge) -> [UInt8]?
    ) async throws(SignalingError) -> KnockTicket {
        fingerprint = identity.fingerprint
        let request = KnockRequest(
            name: name, fingerprint: Fingerprint.colons(identity.fingerprint),
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
        else { throw .notAShareHost(link, "its answer to a knock makes no sense; it may be of another version") }
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

    /// Polls until the host answers; the host gives up after 60 s.
    public func waitForAnswer(_ ticket: KnockTicket) async throws(SignalingError) -> KnockAnswer {
        var losses = 0
        while true {
            let answer: HTTPAnswer
            do {
                answer = try await ask(.GET, path: ticket.path, timeout: configuration.pollTimeout)
            } catch {
                // A poll may be repeated, because the host keeps the knock for some seconds.
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
                else { throw SignalingError.notAShareHost(link, "its answer makes no sense") }
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

    /// Withdraws a knock that has not been answered.
    public func withdraw(_ ticket: KnockTicket) async { _ = try? await ask(.DELETE, path: ticket.path) }

    /// Sends an offer. Checks that the answer's fingerprint is the link's, and that the host's proof (`Share-Proof`) is
    /// right.
    /// - Parameter patience: time limit for a new connection, and again for the answer. Nil: the default limit, and an
    ///   idle connection may be used.
    public func offer(
        _ sdp: String, token: String, patience: Duration? = nil
    ) async throws(SignalingError) -> OfferAnswer {
        self.token = token
        let answer = try await ask(
            .POST, path: "/\(link.id.text)/whep", type: "application/sdp", body: ByteBuffer(string: sdp),
            extra: [(Header.shareVisit.rawName, clientInstance.text)], timeout: patience, isFresh: patience != nil)
        guard answer.status == 201, let resource = answer.headers.first(name: "Location"),
            resource.hasPrefix("/\(link.id.text)/whep/")
        else { throw failure(answer) }
        guard CertificateFingerprints.sha256(in: answer.text) == link.fingerprint else {
            throw SignalingError(
                .hostNotProven, "the answer names another certificate than the link: somebody in between wants to watch"
            )
        }
        let etag = (answer.headers.first(name: "ETag") ?? "").filter { $0 != "\"" }
        let viewer = fingerprint ?? CertificateFingerprints.sha256(in: sdp) ?? []
        guard let proof = answer.headers.first(name: "Share-Proof").flatMap({ Base64URL.decode($0) }),
            self.proof.isHost(proof, viewer: viewer, host: link.fingerprint)
        else {
            throw SignalingError(.hostNotProven, "the host could not prove that it knows the link's secret")
        }
        let result = OfferAnswer(sdp: answer.text, resource: resource, etag: etag)
        session = result
        return result
    }

    /// Sends a trickle fragment (RFC 8840) for the session that `offer` opened.
    public func trickle(_ fragment: String) async throws(SignalingError) {
        guard let session else { throw SignalingError(.gone, "there is no session yet") }
        let answer = try await ask(
            .PATCH, path: session.resource, type: "application/trickle-ice-sdpfrag", body: ByteBuffer(string: fragment),
            extra: [("If-Match", "\"\(session.etag)\"")])
        guard (200..<300).contains(answer.status) else { throw failure(answer) }
    }

    /// Sends the credentials and candidates of an ICE restart (RFC 9725 section 4.4) on a new connection, because
    /// existing ones may have died in the outage without notice.
    /// - Parameter patience: time limit for the connection, and again for the answer.
    /// - Throws: `.gone` if the host does not have the session any more.
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

    /// Closes all connections after an outage, so that later requests use new ones. Event streams end with
    /// `.connectionLost`.
    public func closeConnections() {
        for channel in idle + streams { channel.close(mode: .all, promise: nil) }
        idle = []
        streams = []
    }

    /// Opens the host's stream of events. The stream ends after `.ended`, and throws `.connectionLost` when the
    /// connection breaks.
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
        // Cancelled on the event loop, which may be shut down by the time this function continues.
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

    /// Deletes the session at the host. Errors are ignored, because the host may have gone.
    public func leave() async {
        guard let session else { return }
        self.session = nil
        _ = try? await ask(.DELETE, path: session.resource, timeout: .seconds(1))
    }

    /// Closes every connection. May be called more than once.
    public func close() async {
        guard !isClosed else { return }
        isClosed = true
        for channel in idle + streams { channel.close(promise: nil) }
        idle = []
        streams = []
        if connecting == 0 { try? await group.shutdownGracefully() }
    }

    /// Opens a connection. NIO must not connect with a group that is shut down; so if `close` was called meanwhile, the
    /// last pending connection attempt shuts the group down.
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

    /// Sends one request, on an idle connection if there is one. If the host has closed that connection meanwhile, the
    /// request is repeated once on a new one.
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
                // The request is repeated only if the host has closed the idle connection meanwhile.
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
        // Cancelled on the event loop, which may be shut down by the time this function continues.
        promise.futureResult.whenComplete { _ in deadline.cancel() }
        HTTPExchange.send(HTTPExchange.Request(head: head, body: body, kind: .whole(promise)), on: channel)
        let answer = try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            channel.close(promise: nil)
        }
        // A channel whose TLS is closing stays active for a while, so the header is checked, too.
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

    /// Converts an unexpected response to an error with a sentence for people.
    private func failure(_ answer: HTTPAnswer) -> SignalingError {
        guard answer.headers.first(name: "Content-Type") == "application/problem+json",
            let document = try? JSONDecoder().decode(Problem.Document.self, from: Data(answer.body.readableBytesView))
        else { return .notAShareHost(link, "it answered with status \(answer.status)") }
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
