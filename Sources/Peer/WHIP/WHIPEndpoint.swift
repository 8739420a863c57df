import FoundationEssentials
public import HTTP
import LinuxRuntime
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
public import Signaling
import Synchronization
import TLSTransport

/// Any WHIP endpoint (RFC 9725) that is reached by `https` with a certificate that the system trusts, or by `http`, which
/// protects nothing.
///
/// A 307 or 308 is followed, five times at most, and never from `https` to `http`, nor from a public address to a private
/// one; so is the place of the session. The token goes to the scheme, host and port alone that the user has typed.
public final class WHIPEndpoint: PublishingEndpoint {
    private struct Session {
        var url: URL
        /// Strong, with its quotes; nil: the endpoint gave none.
        var etag: String?
        /// The endpoint has refused a PATCH, as it may (RFC 9725 section 4.3).
        var takesNoPatch = false
    }

    private struct Answer: Sendable {
        let url: URL
        let response: HTTPAnswer

        var status: Int { response.status }
        var text: String { response.text }
        func header(_ name: String) -> String? { response.headers.first(name: name) }
    }

    public let name: String
    public let host: String
    public var fingerprint: [UInt8]? { nil }
    /// RFC 9725 lets an endpoint refuse it, and some take candidates in the offer alone.
    public var takesLateCandidates: Bool { false }

    private let url: URL
    private let origin: WHIPOrigin
    private let token: String?
    private let session = Monitor<Session?>(nil)
    private let granted = Mutex(GrantedServers.none)
    /// No session is opened any more.
    private let isClosing = Mutex(false)
    private let isClosed = Mutex(false)

    private static let redirectLimit = 5
    private let timeout: Duration
    private let trust: TLSContext?

    /// - Parameters:
    ///   - text: the endpoint's URL.
    ///   - token: the bearer token; empty: none.
    /// - Throws: `.notAShareHost` if the text is no such URL.
    public convenience init(_ text: String, token: String) throws(SignalingError) {
        try self.init(text, token: token, timeout: .seconds(15))
    }

    /// - Parameters:
    ///   - timeout: for each request, with its answer.
    ///   - trust: which certificates are trusted; nil: those that the system trusts.
    ///   - lookup: of names.
    init(
        _ text: String, token: String, timeout: Duration, trust: TLSContext? = nil,
        lookup: @escaping WHIPOrigin.Lookup = { await ServerLookup.addresses(of: $0) }
    ) throws(SignalingError) {
        guard let url = URL(string: text), let host = url.host, !host.isEmpty, Self.isHTTP(url), url.user == nil,
            url.fragment == nil
        else {
            throw SignalingError(
                .notAShareHost,
                "\(UntrustedText.quote(UntrustedText.clean(text, limit: 128, fallback: ""))) is no address of a WHIP endpoint",
                remedy: "It begins with https://, or with http:// for a server that you reach without protection.")
        }
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SignalingError(.refused, "the token has characters that no bearer token has")
        }
        self.timeout = timeout
        self.trust = trust
        self.url = url
        origin = WHIPOrigin(url: url, lookup: lookup)
        self.host = host
        name = host + (url.port.map { ":\($0)" } ?? "")
        self.token = token.isEmpty ? nil : token
    }

    private static func isHTTP(_ url: URL) -> Bool { ["https", "http"].contains(url.scheme?.lowercased() ?? "") }

    // MARK: The session

    public var grantedServers: GrantedServers { granted.withLock { $0 } }

    /// Deletes a former session first.
    public func publish(_ sdp: String) async throws(SignalingError) -> OfferAnswer {
        await deleteSession()
        guard !isClosing.withLock({ $0 }) else { throw Self.ended }
        let answer = try await send(.POST, url, "application/sdp", sdp, extra: [("Accept", "application/sdp")])
        // Some endpoints answer 200 (RFC 9725 section 4.2 wants 201).
        guard [200, 201].contains(answer.status) else { throw refusal(answer) }
        guard answer.text.hasPrefix("v=0") else {
            throw SignalingError(.offerRefused, "its answer is no session description")
        }
        let servers = ICEServer.servers(in: LinkHeader.parse(answer.response.headers["Link"]))
        granted.withLock { $0 = GrantedServers(servers, by: host, answer.url.host ?? host) }
        let place = answer.header("Location").flatMap { URL(string: $0, relativeTo: answer.url)?.absoluteURL }
        if let place {
            guard Self.isHTTP(place), place.scheme == "https" || answer.url.scheme == "http" else {
                throw SignalingError(.offerRefused, "it names a session that is not protected as the endpoint is")
            }
            session.with { $0 = Session(url: place, etag: answer.header("ETag")) }
        }
        if isClosing.withLock({ $0 }) {
            await deleteSession()
            throw Self.ended
        }
        return OfferAnswer(sdp: answer.text, resource: place?.absoluteString ?? "", etag: answer.header("ETag") ?? "")
    }

    /// Not called, as the offer has all candidates.
    public func trickle(_ fragment: String) async throws(SignalingError) {}

    public func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        guard let session = session.with({ $0 }) else { throw Self.noRestart }
        guard !session.takesNoPatch else {
            // What remains to be known is whether there is a session; 405 says nothing.
            let status = try await send(.GET, session.url, timeout: timeout).status
            throw [404, 410].contains(status) ? Self.gone : Self.noRestart
        }
        let answer = try await send(
            .PATCH, session.url, "application/trickle-ice-sdpfrag", fragment, extra: [("If-Match", "*")],
            timeout: timeout)
        switch answer.status {
        case 200:
            if let tag = answer.header("ETag") { self.session.with { $0?.etag = tag } }
            return RestartAnswer(fragment: answer.text)
        case 404, 410: throw Self.gone
        default:
            if [405, 422, 501].contains(answer.status) { self.session.with { $0?.takesNoPatch = true } }
            throw refusal(answer)
        }
    }

    public func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>? { nil }

    private func deleteSession() async {
        let session = session.with { session in
            defer { session = nil }
            return session
        }
        if let session { _ = try? await send(.DELETE, session.url, timeout: .seconds(2)) }
    }

    public func close() async {
        isClosing.withLock { $0 = true }
        await deleteSession()
        isClosed.withLock { $0 = true }
    }

    private static let noRestart = SignalingError(.offerRefused, "it cannot restart ICE")
    private static let gone = SignalingError(.gone, "it does not have the session any more")
    private static let ended = SignalingError(.connectionLost, "the broadcast has ended")

    // MARK: Requests

    private func send(
        _ method: HTTPMethod, _ target: URL, _ type: String? = nil, _ body: String? = nil,
        extra: [(String, String)] = [], timeout: Duration? = nil
    ) async throws(SignalingError) -> Answer {
        guard !isClosed.withLock({ $0 }) else { throw Self.ended }
        var url = target
        for _ in 0...Self.redirectLimit {
            var headers = HTTPHeaders(extra)
            if let type { headers.add(name: "Content-Type", value: type) }
            if let token, origin.has(url) { headers.add(name: "Authorization", value: "Bearer \(token)") }
            let request = HTTPClientRequest(
                method, url, headers: headers, body: body, to: try await address(of: url), trust: trust)
            let answer: Answer
            do {
                answer = Answer(url: url, response: try await request.send(timeout: timeout ?? self.timeout))
            } catch {
                throw Self.explain(error, url)
            }
            guard [307, 308].contains(answer.status) else { return answer }
            guard let next = answer.header("Location").flatMap({ URL(string: $0, relativeTo: url)?.absoluteURL }),
                Self.isHTTP(next), next.scheme == "https" || url.scheme == "http"
            else { throw SignalingError(.offerRefused, "it redirects to a place that cannot be used") }
            url = next
        }
        throw SignalingError(.offerRefused, "it redirects again and again")
    }

    /// The address to connect to. Another place than that of the user is connected to at the address that was looked
    /// at.
    private func address(of url: URL) async throws(SignalingError) -> String? {
        guard !origin.has(url) else { return nil }
        guard let address = await origin.address(of: url) else {
            throw SignalingError(
                .offerRefused, "it names a place that is not public, as itself is, or that is not known")
        }
        return address
    }

    private static func explain(_ error: any Error, _ url: URL) -> SignalingError {
        let place = UntrustedText.clean(url.host ?? "", limit: 128, fallback: "the endpoint")
        let lost = SignalingError(.connectionLost, "the connection to \(place) broke")
        switch error {
        case ChannelError.connectTimeout:
            return SignalingError(.timedOut, "\(place) does not answer in time")
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            return SignalingError(
                .unknownHost, "no computer is known as \(place)", remedy: "Check the address and your network.")
        case is NIOConnectionError, is IOError:
            return SignalingError(
                .unreachable, "\(place) cannot be reached", remedy: "Check the address, its port and your network.")
        case TLSFailure.truncated, TLSFailure.record: return lost
        case TLSFailure.certificate:
            return SignalingError(
                .certificateMismatch, "\(place) has no certificate for this name that this computer trusts",
                remedy: "Check the address. A certificate of its own has to be made known to the system.")
        case TLSFailure.library(let reason):
            return SignalingError(.unreachable, "TLS cannot be set up: \(reason)", remedy: "Check SSL_CERT_FILE.")
        case is TLSFailure:
            return SignalingError(
                .unreachable, "\(place) does not speak HTTPS",
                remedy: "Check the port, and whether the address begins with http:// instead.")
        case is HTTPResponseTooLong: return SignalingError(.offerRefused, "its answer is too long")
        default: return lost
        }
    }

    private func refusal(_ answer: Answer) -> SignalingError {
        switch answer.status {
        case 401, 403:
            return SignalingError(
                .refused, "it refuses the token (\(answer.status))",
                remedy: "Check the token: it is what the server calls a stream key or bearer token.")
        case 404, 410:
            return SignalingError(
                .oldLink, "it does not know this address (\(answer.status))", remedy: "Check the address, all of it.")
        case 406, 415, 422:
            return SignalingError(
                .offerRefused, "it does not take VP8 with Opus (\(answer.status))",
                remedy: "Choose a server that takes VP8.")
        case 409:
            return SignalingError(.tooMany, "somebody publishes there already (409)", remedy: "Try again later.")
        case 429, 503:
            let wait = answer.response.retryAfter
            return SignalingError(
                .tooMany, "it takes no more now (\(answer.status))",
                remedy: wait.map { "Try again in \($0) s." } ?? "Try again later.", retryAfter: wait)
        default: return SignalingError(.offerRefused, "it answers with status \(answer.status)")
        }
    }
}
