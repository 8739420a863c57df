import Admission
import HTTPTypes
import NIOCore

/// The connection that a request came on, or what stands for it if a relay has forwarded the request.
struct RouteConnection: Sendable {
    let eventLoop: any EventLoop
    /// Succeeds when nobody waits for the response any more.
    let closed: EventLoopFuture<Void>

    init(eventLoop: any EventLoop, closed: EventLoopFuture<Void>) {
        self.eventLoop = eventLoop
        self.closed = closed
    }

    init(_ channel: any Channel) { self.init(eventLoop: channel.eventLoop, closed: channel.closeFuture) }
}

/// One request with its complete body.
struct RouteRequest: Sendable {
    let method: HTTPRequest.Method
    /// The path without its query, split at slashes.
    let path: [Substring]
    /// The part after the question mark.
    var query: Substring = ""
    let headers: HTTPFields
    let body: ByteBuffer
    let address: PeerAddress
    let connection: RouteConnection
    /// A relay has forwarded it, which can read it.
    var isForwarded = false

    /// The identifier that the path begins with; nil if it begins with none.
    var broadcast: BroadcastID? { path.first.flatMap { BroadcastID($0) } }

    /// The service of a path below /services; nil if there is none, or if the text cannot be one.
    var service: ServiceID? {
        guard path.first == "services" else { return nil }
        return path.dropFirst().first.flatMap { ServiceID($0) }
    }

    /// What the path names if it is met at this server.
    var tunnelID: TunnelID? { broadcast.map { .broadcast($0) } ?? service.map { .service($0) } }

    var bodyText: String { String(buffer: body) }

    /// The media type without parameters, in lower case.
    var mediaType: String {
        let text = headers[.contentType] ?? ""
        return text.prefix(while: { $0 != ";" }).lowercased().filter { !$0.isWhitespace }
    }

    var bearer: String? { Self.bearer(headers) }

    static func bearer(_ headers: HTTPFields) -> String? {
        guard let text = headers[.authorization], text.lowercased().hasPrefix("bearer ") else { return nil }
        let token = text.dropFirst("bearer ".count).drop(while: { $0 == " " })
        return token.isEmpty || token.utf8.count > 512 ? nil : String(token)
    }
}
