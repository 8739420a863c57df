import FoundationEssentials
package import HTTPTypes
import Identifiers
import Identity
import MediaCore
import NIOCore
import NIOHTTP1

/// The response of a route.
package struct RouteResponse: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPFields
    package var body = ResponseBody()
    /// The client may send more requests on this connection.
    package var isConnectionKept = false
    /// The connection goes on as a WebSocket, with these headers in the response.
    package var upgrade: SocketUpgrade?

    /// Adds the headers that all responses have: no caching, no content sniffing, no referrer.
    package init(_ status: HTTPResponse.Status, _ headers: HTTPFields = [:]) {
        self.status = status
        self.headers = headers
        self.headers[.cacheControl] = "no-store"
        self.headers[.xContentTypeOptions] = "nosniff"
        self.headers[Header.referrerPolicy] = "no-referrer"
    }

    package init(_ status: HTTPResponse.Status, type: String, _ text: String) {
        self.init(status, [.contentType: type])
        body = ResponseBody(ByteBuffer(string: text))
    }

    package init(_ status: HTTPResponse.Status, json value: some Encodable) {
        self.init(status, type: "application/json", Self.json(value))
    }

    /// On one line, with sorted keys.
    package static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// Creates a problem document (RFC 9457).
    package init(problem: Problem, _ status: HTTPResponse.Status, _ detail: String, retryAfter: Int? = nil) {
        self.init(status, type: "application/problem+json", problem.text(status, detail))
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    }

    package static var notFound: RouteResponse {
        RouteResponse(problem: .notFound, .notFound, "there is nothing here")
    }

    package static var unknownSession: RouteResponse {
        RouteResponse(problem: .notFound, .notFound, "there is no such session (any more)")
    }

    package static func methodNotAllowed(_ allowed: String) -> RouteResponse {
        RouteResponse(problem: .method, .methodNotAllowed, "this takes \(allowed)").with(.allow, allowed)
    }

    /// - Parameter seconds: when the client may try again.
    package static func limited(_ why: String, _ seconds: Int) -> RouteResponse {
        RouteResponse(problem: .limited, .tooManyRequests, "\(why); try again in \(seconds) s", retryAfter: seconds)
    }

    package func with(_ name: HTTPField.Name, _ value: String) -> RouteResponse {
        var copy = self
        copy.headers[name] = value
        return copy
    }

    /// The response with CORS headers, because players run on pages of other origins. Without a bearer token they get
    /// nothing.
    package var crossOrigin: RouteResponse {
        with(.accessControlAllowOrigin, "*")
            .with(.accessControlAllowHeaders, "Authorization, Content-Type, If-Match, Share-Visit")
            .with(.accessControlExposeHeaders, "Location, ETag, Link, Accept-Patch, Retry-After, Share-Proof")
    }

    /// The response to HEAD: has the length of the body, but no body.
    package var withoutBody: RouteResponse {
        var copy = self
        if let length = body.length { copy.headers[.contentLength] = String(length) }
        copy.body = ResponseBody()
        return copy
    }

    var head: HTTPResponseHead {
        var head = HTTPResponseHead(
            version: .http1_1, status: .init(statusCode: status.code, reasonPhrase: status.reasonPhrase))
        head.headers = HTTPHeaders(headers.map { ($0.name.rawName, $0.value) })
        if let length = body.length, !head.headers.contains(name: "Content-Length") {
            head.headers.add(name: "Content-Length", value: String(length))
        }
        if !isConnectionKept { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        return head
    }
}

/// What a connection is for after a response with 101.
package struct SocketUpgrade: Sendable {
    package let socket: MessageSocket
    /// Handles what the peer sends, until the socket is closed.
    package let run: @Sendable () async -> Void

    package init(_ socket: MessageSocket, run: @escaping @Sendable () async -> Void) {
        (self.socket, self.run) = (socket, run)
    }
}

/// The `type` of a problem document, which names the kind of refusal.
package enum Problem: String, Sendable {
    case notFound = "urn:share:problem:not-found"
    case method = "urn:share:problem:method"
    case tooLarge = "urn:share:problem:too-large"
    case mediaType = "urn:share:problem:media-type"
    case malformed = "urn:share:problem:malformed"
    case wrongProof = "urn:share:problem:wrong-proof"
    case wrongSignature = "urn:share:problem:wrong-signature"
    /// The broadcast is encrypted from end to end, and the viewer cannot open it.
    case needsEncryption = "urn:share:problem:needs-encryption"
    case limited = "urn:share:problem:limited"
    case queueFull = "urn:share:problem:queue-full"
    /// The service takes no further broadcast.
    case busy = "urn:share:problem:busy"
    /// The token has a session.
    case sessionExists = "urn:share:problem:session-exists"
    /// The identifier of a tunnel is another certificate's.
    case identifierTaken = "urn:share:problem:identifier-taken"
    case refused = "urn:share:problem:refused"
    case replaced = "urn:share:problem:replaced"
    case unanswered = "urn:share:problem:unanswered"
    case ended = "urn:share:problem:ended"
    case unauthorized = "urn:share:problem:unauthorized"
    case fingerprint = "urn:share:problem:fingerprint"
    case offer = "urn:share:problem:offer"
    /// The offer has no codec of the video.
    case codec = "urn:share:problem:codec"
    /// There is no such layer.
    case layers = "urn:share:problem:layers"
    /// A page of another origin has made the request.
    case origin = "urn:share:problem:origin"
    /// The resource is a WebSocket.
    case upgrade = "urn:share:problem:upgrade"
    case precondition = "urn:share:problem:precondition"
    case reserved = "urn:share:problem:reserved"
    /// The host of a tunnel cannot be reached now.
    case unreachable = "urn:share:problem:unreachable"

    /// The problem document on one line.
    package func text(_ status: HTTPResponse.Status, _ detail: String) -> String {
        RouteResponse.json(
            Document(type: rawValue, title: status.reasonPhrase, status: status.code, detail: detail))
    }

    package struct Document: Codable, Sendable {
        package var type: String
        var title: String
        var status: Int
        package var detail: String

        init(type: String, title: String, status: Int, detail: String) {
            (self.type, self.title, self.status, self.detail) = (type, title, status, detail)
        }

        /// Cleans the texts, which people will see.
        package init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            type = try values.decode(String.self, forKey: .type)
            title = UntrustedText.clean(try values.decode(String.self, forKey: .title), fallback: "")
            status = try values.decode(Int.self, forKey: .status)
            detail = UntrustedText.clean(try values.decode(String.self, forKey: .detail), limit: 256, fallback: "")
        }
    }
}

package enum Header {
    package static let origin = name("Origin")
    package static let socketKey = name("Sec-WebSocket-Key")
    package static let socketVersion = name("Sec-WebSocket-Version")
    package static let socketProtocol = name("Sec-WebSocket-Protocol")
    package static let socketAccept = name("Sec-WebSocket-Accept")
    static let referrerPolicy = name("Referrer-Policy")
    package static let shareProof = name("Share-Proof")
    package static let shareVisit = name("Share-Visit")
    package static let shareAdmission = name("Share-Admission")
    package static let shareEncrypted = name("Share-Encrypted")
    package static let shareBroadcast = name("Share-Broadcast")
    package static let acceptPost = name("Accept-Post")
    package static let acceptPatch = name("Accept-Patch")
    package static let link = name("Link")
    package static let host = name("Host")
    package static let openerPolicy = name("Cross-Origin-Opener-Policy")

    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a header's name") }
        return name
    }
}
