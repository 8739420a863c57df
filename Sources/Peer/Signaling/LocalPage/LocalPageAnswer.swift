import HTTP
import HTTPTypes
import Identifiers
import NIOCore
import NIOHTTP1

/// A response of a ``LocalPageServer``.
struct LocalPageAnswer: Sendable {
    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var body: ByteBuffer

    /// Adds what all responses have: no caching, no guess of a type, and nothing for pages of other sites.
    init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.headers = headers
        self.body = body
        for (name, value) in [
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ] { self.headers.replaceOrAdd(name: name, value: value) }
    }

    init(_ status: HTTPResponseStatus, type: String, _ text: String) {
        self.init(status, ["Content-Type": type], body: ByteBuffer(string: text))
    }

    static func refusal(_ status: HTTPResponseStatus) -> LocalPageAnswer {
        LocalPageAnswer(status, type: "text/plain; charset=utf-8", status.reasonPhrase + "\n")
    }

    /// A document of the page.
    static func page(_ html: String) -> LocalPageAnswer {
        var answer = LocalPageAnswer(.ok, type: "text/html; charset=utf-8", html)
        answer.headers.add(name: "Content-Security-Policy", value: PageFiles.contentSecurityPolicy)
        answer.headers.add(name: "Cross-Origin-Opener-Policy", value: "same-origin")
        return answer
    }

    /// The response of a server without its body, with the fields alone that pass through a relay, too: what a host
    /// says is of this page's origin, and must be no page and no script.
    /// - Parameter base: what the server's paths begin with here.
    /// - Returns: nil if it cannot be passed on.
    static func forwarded(
        _ status: Int, _ headers: HTTPHeaders, hasBody: Bool, of id: TunnelID, base: String
    ) -> LocalPageAnswer? {
        let part = ForwardedResponse(
            status: status, headers: headers.map { [$0.name, $0.value] }, body: nil, continues: hasBody)
        let reply = ForwardedFields.response(part, of: id).reply
        guard Int(reply.status.code) == status else { return nil }
        var answer = LocalPageAnswer(HTTPResponseStatus(statusCode: status))
        for field in reply.headers where !field.name.canonicalName.hasPrefix("access-control-") {
            let value = field.name == .location ? base + field.value : field.value
            answer.headers.replaceOrAdd(name: field.name.canonicalName, value: value)
        }
        return answer
    }
}
